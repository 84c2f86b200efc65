// The tables of foreign words. See foreign_words.h.
//
// Tested by tests/diagnostics/other_functions.tc and tests/unit/language/foreign_words_test.cpp.

#include "language/foreign_words.h"

#include <algorithm>
#include <iterator>

namespace tritonc::ast {
namespace {

struct OtherName {
  std::string_view name, here;
};

constexpr OtherName other_functions[] = {
    {"fmax", "max"},
    {"fmaxf", "max"},
    {"fmin", "min"},
    {"fminf", "min"},
    {"maximum", "max"},
    {"minimum", "min"},
    {"atomicCAS", "atomic_cas"},
    {"atomicExch", "atomic_xchg"},
    {"__expf", "exp"},
    {"__logf", "log"},
    {"__powf", "pow"},
    {"__sinf", "sin"},
    {"__cosf", "cos"},
    {"__fsqrt_rn", "sqrt"},
    {"__frsqrt_rn", "rsqrt"},
    {"__fmaf_rn", "fma"},
    {"mad", "fma"},
    {"native_exp", "exp"},
    {"native_log", "log"},
    {"native_sqrt", "sqrt"},
    {"native_rsqrt", "rsqrt"},
    {"program_id", "get_program_id"},
    {"num_programs", "get_num_programs"},
    {"get_group_id", "get_program_id"},
    {"get_num_groups", "get_num_programs"},
    {"where", "select"},
    {"rand", "random_uniform"},
    {"debug_barrier", "__debug_barrier"},
};

constexpr OtherName other_constants[] = {{"nullptr", "0"}, {"NULL", "0"}, {"None", "newaxis"}};

struct OtherFunction {
  std::string_view name;
  OtherWay way;
};

constexpr OtherWay write(std::string_view text) { return {Message::write_instead, text}; }
constexpr OtherWay note(Message id) { return {id, {}}; }

// The parameters of an expression are x, y, z, in the order of the function's arguments.
constexpr OtherFunction other_ways[] = {
    // Memory and threads.
    {"load", note(Message::write_load)},
    {"store", note(Message::write_load)},
    {"__ldg", note(Message::write_load)},
    {"__ldcg", note(Message::write_load)},
    {"__ldcs", note(Message::write_load)},
    {"__stcg", note(Message::write_load)},
    {"__stcs", note(Message::write_load)},
    {"__shfl_sync", note(Message::no_threads)},
    {"__shfl_up_sync", note(Message::no_threads)},
    {"__shfl_down_sync", note(Message::no_threads)},
    {"__shfl_xor_sync", note(Message::no_threads)},
    {"get_global_id", note(Message::no_threads)},
    {"get_local_id", note(Message::no_threads)},
    {"get_local_size", note(Message::no_threads)},
    {"barrier", note(Message::no_waiting)},
    {"multiple_of", note(Message::write_multiple)},
    {"max_contiguous", note(Message::write_multiple)},

    // Tiles.
    {"arange", note(Message::write_range)},
    {"iota", note(Message::write_range)},
    {"zeros", note(Message::write_filled)},
    {"ones", note(Message::write_filled)},
    {"full", note(Message::write_filled)},
    {"zeros_like", note(Message::write_filled)},
    {"ones_like", note(Message::write_filled)},
    {"full_like", note(Message::write_filled)},
    {"dot", note(Message::write_matmul)},
    {"matmul", note(Message::write_matmul)},
    {"mm", note(Message::write_matmul)},
    {"bmm", note(Message::write_matmul)},
    {"trans", note(Message::write_transpose)},
    {"transpose", note(Message::write_transpose)},
    {"permute", write("x[^1, ^0]")},
    {"reshape", note(Message::write_reshape)},
    {"view", note(Message::write_reshape)},
    {"ravel", note(Message::write_reshape)},
    {"flatten", note(Message::write_reshape)},
    {"broadcast_to", note(Message::write_reshape)},
    {"expand_dims", write("x[:, newaxis]")},
    {"unsqueeze", write("x[:, newaxis]")},
    {"join", note(Message::write_join)},
    {"stack", note(Message::write_join)},
    {"interleave", note(Message::write_join)},
    {"split", note(Message::write_split)},
    {"cat", note(Message::write_concat)},
    {"concatenate", note(Message::write_concat)},
    {"flip", write("x[gather(63 - (0 ... 64))]")},

    // Reductions and scans.
    {"sum", note(Message::write_reduction)},
    {"prod", note(Message::write_reduction)},
    {"mean", note(Message::write_reduction)},
    {"amax", note(Message::write_reduction)},
    {"amin", note(Message::write_reduction)},
    {"argmax", note(Message::write_reduction)},
    {"argmin", note(Message::write_reduction)},
    {"any", note(Message::write_reduction)},
    {"all", note(Message::write_reduction)},
    {"cumsum", note(Message::write_scan)},
    {"cumprod", note(Message::write_scan)},
    {"associative_scan", note(Message::write_scan)},

    // Functions of numbers.
    {"sigmoid", write("1 / (1 + exp(-x))")},
    {"silu", write("x / (1 + exp(-x))")},
    {"swish", write("x / (1 + exp(-x))")},
    {"relu", write("max(x, 0)")},
    {"gelu", write("0.5f * x * (1 + erf(x * 0.70710678f))")},
    {"softplus", write("max(x, 0) + log(1 + exp(-abs(x)))")},
    {"softmax", note(Message::write_softmax)},
    {"tan", write("sin(x) / cos(x)")},
    {"sinh", write("(exp(x) - exp(-x)) / 2")},
    {"cosh", write("(exp(x) + exp(-x)) / 2")},
    {"exp10", write("exp2(x * 3.32192809f)")},
    {"log10", write("log2(x) * 0.30103f")},
    {"expm1", write("exp(x) - 1")},
    {"log1p", write("log(1 + x)")},
    {"hypot", write("sqrt(x * x + y * y)")},
    {"square", write("x * x")},
    {"reciprocal", write("1 / x")},
    {"__frcp_rn", write("1 / x")},
    {"__fdividef", write("x / y")},
    {"fdiv", write("x / y")},
    {"fmod", write("x - trunc(x / y) * y")},
    {"clamp", write("min(max(x, y), z)")},
    {"clip", write("min(max(x, y), z)")},
    {"__saturatef", write("min(max(x, 0), 1)")},
    {"sign", write("x > 0 ? 1 : x < 0 ? -1 : 0")},
    {"isnan", write("x != x")},
    {"isinf", write("abs(x) == INFINITY")},
    {"isfinite", write("abs(x) < INFINITY")},

    // Conversions.
    {"cast", note(Message::write_cast)},
    {"__float2half", note(Message::write_cast)},
    {"__half2float", note(Message::write_cast)},
    {"__float2bfloat16", note(Message::write_cast)},
    {"__bfloat162float", note(Message::write_cast)},
    {"__int2float_rn", note(Message::write_cast)},
    {"__float_as_int", write("bitcast<int>(x)")},
    {"__float_as_uint", write("bitcast<unsigned>(x)")},
    {"__int_as_float", write("bitcast<float>(x)")},
    {"__uint_as_float", write("bitcast<float>(x)")},
    {"as_int", write("bitcast<int>(x)")},
    {"as_float", write("bitcast<float>(x)")},
};

} // namespace

std::optional<std::string_view> other_name(std::string_view name, bool is_call) {
  auto find = [&](const auto &rows) -> std::optional<std::string_view> {
    for (const OtherName &row : rows)
      if (row.name == name)
        return row.here;
    return std::nullopt;
  };
  return is_call ? find(other_functions) : find(other_constants);
}

std::optional<OtherWay> other_way(std::string_view name, bool in_pragma) {
  if (in_pragma && name == "cdiv")
    return std::nullopt;
  if (is_ceiling_division(name))
    return write(in_pragma ? "cdiv(a, b)" : "(a + b - 1) / b");
  for (const OtherFunction &row : other_ways)
    if (row.name == name)
      return row.way;
  return std::nullopt;
}

bool is_ceiling_division(std::string_view name) {
  constexpr std::string_view names[] = {"cdiv",   "ceil_div", "ceildiv",
                                        "div_up", "divup",    "ceiling_div"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

} // namespace tritonc::ast
