// A matmul kernel in tile IR, as the first passes leave it. A test changes one line of it and
// checks the effect.

#pragma once

#include "support/contains.h"

#include <doctest/doctest.h>

#include <string>

namespace tritonc::test {

/// How often `part` occurs in `text`.
inline int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    found++;
  return found;
}
using tritonc::contains;

/// `text` with every `from` replaced; requires at least one.
inline std::string with(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// C [M,N] = A [M,K] B [K,N], with tiles of m x n and K tiles of k.
inline std::string matmul_kernel(int m = 64, int n = 64, int k = 64,
                                 const std::string &elem = "f16") {
  std::string text = R"(
    func @f(%A: ptr<ELEM>, %B: ptr<ELEM>, %C: ptr<ELEM>, %K: i32, %lda: i64 multiple_of 8,
            %ldb: i64 multiple_of 8, %ldc: i64 multiple_of 8) {
      %tm = constant {value = SIZE_M} : i64
      %tn = constant {value = SIZE_N} : i64
      %tk = constant {value = SIZE_K} : i64
      %one = constant {value = 1} : i64
      %pm = program_id {axis = 0} : i32
      %pn = program_id {axis = 1} : i32
      %pm.wide = cast %pm : i64
      %pn.wide = cast %pn : i64
      %row = mul %pm.wide, %tm : i64
      %column = mul %pn.wide, %tn : i64
      %first = mul %row, %lda : i64
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[SIZE_M,SIZE_N]
      %sum = for_loop %K, %start : f32[SIZE_M,SIZE_N] {
        (%t: i32, %acc: f32[SIZE_M,SIZE_N])
        %t.wide = cast %t : i64
        %k = mul %t.wide, %tk : i64
        %at.a = add %first, %k : i64
        %va = view %A, %at.a, %lda, %one : view<ELEM>[SIZE_M,SIZE_K]
        %a = load %va : ELEM[SIZE_M,SIZE_K]
        %down = mul %k, %ldb : i64
        %at.b = add %down, %column : i64
        %vb = view %B, %at.b, %ldb, %one : view<ELEM>[SIZE_K,SIZE_N]
        %b = load %vb : ELEM[SIZE_K,SIZE_N]
        %d = dot %a, %b, %acc : f32[SIZE_M,SIZE_N]
        yield %d
      }
      %result = cast %sum : ELEM[SIZE_M,SIZE_N]
      %first.c = mul %row, %ldc : i64
      %at.c = add %first.c, %column : i64
      %vc = view %C, %at.c, %ldc, %one : view<ELEM>[SIZE_M,SIZE_N]
      store %vc, %result
      return
    })";
  text = with(text, "SIZE_M", std::to_string(m));
  text = with(text, "SIZE_N", std::to_string(n));
  text = with(text, "SIZE_K", std::to_string(k));
  return with(text, "ELEM", elem);
}

/// The same kernel with A stored as K x M, or B as N x K.
inline std::string a_transposed(std::string text) {
  text = with(text, "%at.a, %lda, %one", "%at.a, %one, %lda");
  text = with(text, "%first = mul %row, %lda", "%none = mul %row, %one");
  return with(text, "%at.a = add %first, %k :",
              "%down.a = mul %k, %lda : i64\n %at.a = add %down.a, %row :");
}
inline std::string b_transposed(std::string text) {
  text = with(text, "%at.b, %ldb, %one", "%at.b, %one, %ldb");
  text = with(text, "%down = mul %k, %ldb", "%down = mul %column, %ldb");
  return with(text, "%at.b = add %down, %column", "%at.b = add %down, %k");
}

/// The matmul kernel `text`, whose programs then cannot be coarsened: they do not use program_id.
inline std::string alone(std::string text) {
  for (const char *axis : {"0", "1"})
    text = with(text, std::string("program_id {axis = ") + axis + "} : i32",
                std::string("constant {value = ") + axis + "} : i32");
  return text;
}

} // namespace tritonc::test
