// Kernels with forms as the generator would write them, made of texts, for the tests of the
// runtime.

#pragma once

#include <tritonc/runtime.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tritonc {

/// The words of an expression in postfix form: "n 64 % 0 ==". Numbers, operators, the names of
/// parameters, `programs0` to `programs2`, `multiprocessors`.
std::vector<std::int64_t> words_of(const std::string &postfix,
                                   const std::vector<abi::parameter> &parameters);

struct FormArgs {
  const void *source;
  void *target;
  std::int32_t n; // 4 bytes that nobody reads follow
  std::int64_t stride;
};

/// source: halfs by default.
struct TensorText {
  std::string parameter = "source";
  std::string offset = "0";
  std::vector<std::string> sizes = {"64", "n"};
  std::vector<std::string> strides = {"stride"};
  std::vector<std::uint32_t> box = {64, 8};
  std::uint8_t data_type = 6, element_bytes = 2, swizzle = 3; // f16, 128 bytes
};

struct HiddenText {
  HiddenText(abi::hidden_kind kind, std::string value) : kind(kind), value(std::move(value)) {}
  HiddenText(TensorText map) : kind(abi::hidden_kind::tensor_map), map(std::move(map)) {}
  abi::hidden_kind kind;
  std::string value;
  TensorText map;
};

struct FormText {
  std::string name;
  std::vector<std::string> guards = {}; // their texts are the same
  std::string cost = {};
  std::vector<std::string> blocks = {};
  unsigned cluster = 1;
  std::vector<HiddenText> hidden = {};
  bool knows_cluster = true; // the code says it itself
  abi::form_share share = abi::form_share::all;
  std::string scratch = {}; // bytes
  bool starts_early = false;
};

/// Two that share the work and have so much scratch memory, "" for none: its address is what they
/// are given.
std::vector<FormText> pair_of_forms(const std::string &scratch, const std::string &cost = {});

/// forms<tile>(source, target, n, stride): cdiv(n, tile) programs, whose threads note what they are
/// given. For sm_80 in the plain form; for sm_90a in those of the test. Descriptors
/// stay where they are for good, as those of programs do.
class FormKernel {
public:
  explicit FormKernel(const std::vector<FormText> &forms) { add_variant(64, forms); }
  FormKernel(const FormKernel &) = delete;

  void add_variant(std::int32_t tile, const std::vector<FormText> &forms);
  const abi::kernel &kernel();

  std::vector<abi::parameter> parameters = {
      {"source", 0, 2, abi::parameter_kind::pointer, true, 8, {}},
      {"target", 8, 2, abi::parameter_kind::pointer, true, 8, {}},
      {"n", 16, 0, abi::parameter_kind::i32, false, 4, {}},
      {"stride", 24, 0, abi::parameter_kind::i64, false, 8, {}},
  };

private:
  struct VariantData {
    std::vector<abi::image> images;
    std::vector<image_info> infos;
    std::deque<abi::host_code> codes;
  };

  const std::int64_t *words(const std::string &postfix);
  const char *text(const std::string &text);
  const abi::form *form(const FormText &form);
  const abi::tensor_map *map(const TensorText &map);
  void add_image(VariantData &data, const char *gpu, int sm, char suffix, const FormText &form);

  std::deque<VariantData *> variants_;
  std::vector<abi::variant> rows_;
  std::vector<std::int32_t> choices_;
  abi::kernel kernel_ = {};
};

/// Arguments that all forms of the default texts fit: n = 64 * 16, a stride of 64.
FormArgs form_args();

/// What the last thread that ran was given.
struct NotedForm {
  std::string form;
  FormArgs args;
  std::vector<std::string> hidden; // their bytes
  std::int64_t number(std::size_t i) const;
};
NotedForm noted_form();

/// Called by each thread with what it was given, until it is null.
extern void (*on_noted)(const NotedForm &);

} // namespace tritonc
