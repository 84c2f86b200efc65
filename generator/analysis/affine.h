// Affine forms: an index or pointer tile as a formula.
//
// Element i of an integer or pointer tile is often `base + offset + sum of stride_d * i_d`. Offset
// and strides are polynomials over scalars that are uniform across threads: parameters, program
// ids, loop counters. The form answers every question about a memory access: which axis is
// contiguous, how many elements one instruction can move, whether two tiles are the same.
//
//     int rm[TM] = pm * 128 + 0 ... 128;  A + rk[newaxis, :] + rm[:, newaxis] * lda
//     => base A, offset 128*pm*lda, strides [lda, 1]
//
// Signed overflow of index arithmetic is undefined in the language. So widening to 64 bits changes
// nothing, and products of sums may be expanded. A quotient and its remainder join again:
// `pm / n * n * lda + pm % n * lda` is pm*lda.

#pragma once

#include "ir/builder.h"

#include <map>

namespace tritonc {

/// A polynomial with integer coefficients over scalar values. It has no zero coefficients, so equal
/// polynomials have equal terms.
struct Poly {
  /// The factors of one term, sorted by value number; empty for the constant term.
  using Monomial = std::vector<const ir::Value *>;
  /// Compares by number, not by address, so the emitted code is the same in every run.
  struct ByNumbers {
    bool operator()(const Monomial &a, const Monomial &b) const;
  };
  std::map<Monomial, int64_t, ByNumbers> terms;

  static Poly constant(int64_t value);
  static Poly symbol(const ir::Value *value);

  bool operator==(const Poly &other) const { return terms == other.terms; }
  bool is_zero() const { return terms.empty(); }
  std::optional<int64_t> as_constant() const;
  bool is_constant(int64_t value) const { return as_constant() == value; }

  Poly operator+(const Poly &other) const;
  Poly operator-(const Poly &other) const;
  Poly operator*(const Poly &other) const;

  /// This polynomial with `symbol` replaced by `by`.
  Poly substitute(const ir::Value *symbol, const Poly &by) const;

private:
  void add(const Monomial &monomial, int64_t coefficient);
};

struct Affine {
  const ir::Value *base = nullptr; // a scalar pointer; null for integers
  Poly offset;                     // elements
  std::vector<Poly> strides;       // one per axis; undefined on axes of extent 1

  bool uniform() const; // whether all strides are zero
};

/// The forms of the values that one analysis needs: computes each form once. The function must not
/// change meanwhile. Values more than max_depth operations away have no form.
class AffineForms {
public:
  /// As poly_of and affine_of.
  const Poly &poly(const ir::Value *scalar);
  const std::optional<Affine> &affine(const ir::Value *value);

private:
  Poly expand(const ir::Value *scalar);
  Poly joined(Poly poly);
  std::optional<Affine> of_scalar(const ir::Value *value);
  std::optional<Affine> of_tile(const ir::Value *value);

  static constexpr int max_depth = 1000; // so that the stack has room
  int depth_ = 0;                        // of the value that is computed
  std::map<const ir::Value *, Poly> polys_;
  std::map<const ir::Value *, std::optional<Affine>> affines_;
};

/// The polynomial of an integer scalar. A subexpression without a polynomial form becomes a symbol.
Poly poly_of(const ir::Value *scalar);

/// The affine form of an integer or pointer, scalar or tile; nullopt: it has no affine form.
std::optional<Affine> affine_of(const ir::Value *value);

/// `index` divided by `unit`, rounded down; unit 1: no division. A value is less than n exactly
/// where its index is less than n * unit.
struct Units {
  const ir::Value *index;
  int64_t unit;
};
Units units_of(const ir::Value *value);

/// A divisor of the polynomial's value for all values of the symbols (0 for the polynomial 0).
int64_t divisor_of(const Poly &poly, const ir::Function &fn);

/// Emits the polynomial as i64 arithmetic.
ir::Value *emit(ir::Builder &builder, const Poly &poly);

} // namespace tritonc
