// Affine forms: what an index or pointer tile is, as a formula.
//
// Element i of an integer or pointer tile is often `base + offset + sum of stride_d * i_d`, where
// offset and strides are polynomials over scalars that all threads agree on: parameters, program
// ids, loop counters. From this form everything about a memory access follows: which axis is
// contiguous, how many elements one instruction can move, whether two tiles are the same.
//
//     int rm[TM] = pm * 128 + 0 ... 128;  A + rk[newaxis, :] + rm[:, newaxis] * lda
//  => base A, offset 128*pm*lda, strides [lda, 1]
//
// Signed overflow of index arithmetic is undefined in the language, so widening to 64 bits changes
// nothing and products of sums may be multiplied out.

#pragma once

#include "ir/builder.h"

#include <map>

namespace tritonc {

/// A polynomial with integer coefficients over scalar values. No zero coefficients are kept, so two
/// polynomials are equal if their terms are.
struct Poly {
  /// Factors of one term, in the order of their numbers; none for the constant term.
  using Monomial = std::vector<const ir::Value *>;
  /// Not by address, so that what is emitted from a polynomial is the same in every run.
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

  /// This with `symbol` replaced.
  Poly substitute(const ir::Value *symbol, const Poly &by) const;

private:
  void add(const Monomial &monomial, int64_t coefficient);
};

struct Affine {
  const ir::Value *base = nullptr; // a scalar pointer; null for integers
  Poly offset;                     // in elements
  std::vector<Poly> strides;       // one per axis; on axes of extent 1 they mean nothing

  bool uniform() const; // all strides are zero
};

/// The polynomial of an integer scalar. Always succeeds: what can't be expanded is a symbol.
Poly poly_of(const ir::Value *scalar);

/// The affine form of an integer or pointer, scalar or tile, if it has one.
std::optional<Affine> affine_of(const ir::Value *value);

/// What counts in units of an index tile: `index` divided by `unit`, rounded down; 1 if nothing is
/// divided. Less than n are those whose index is less than n units.
struct Units {
  const ir::Value *index;
  int64_t unit;
};
Units units_of(const ir::Value *value);

/// A number that divides the polynomial's value whatever the symbols are (0 for the polynomial 0).
int64_t divisor_of(const Poly &poly, const ir::Function &fn);

/// Emits the polynomial as i64 arithmetic.
ir::Value *emit(ir::Builder &builder, const Poly &poly);

} // namespace tritonc
