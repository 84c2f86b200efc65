// Reads the kernels, their parameters and the external functions from PTX text. It ignores the
// instructions.
//
//   .version 7.0
//   .target sm_80
//   .extern .func (.param .b32 func_retval0) vprintf
//   .visible .entry scale(
//   .param .u64 .ptr .global .align 16 scale_param_0,
//   .param .align 64 .b8 scale_param_1[128]
//   )
//   .maxntid 128
//   {
//     ...
//   }
//
// A parameter begins at the next multiple of its alignment. An array gives its alignment with
// `.align`; any other parameter has the alignment of its type.
//
// Tested by tests/unit/backend/ptx_contents_test.cpp.

#include "backend/ptx_contents.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tritonc {
namespace {

// The next word, or one other character. Empty at the end.
llvm::StringRef take_token(llvm::StringRef &rest) {
  rest = rest.ltrim();
  while (rest.starts_with("//"))
    rest = rest.drop_until([](char c) { return c == '\n'; }).ltrim();
  size_t length =
      rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; })
          .size();
  llvm::StringRef token = rest.take_front(std::max<size_t>(length, 1));
  rest = rest.drop_front(token.size());
  return token;
}

// ".u64" -> 8; 0 if `type` is not a type.
uint32_t bytes_of(llvm::StringRef type) {
  unsigned bits = 0;
  if (type.size() < 3 || type[0] != '.' || !llvm::StringRef("usbf").contains(type[1]) ||
      type.drop_front(2).getAsInteger(10, bits) ||
      (bits != 8 && bits != 16 && bits != 32 && bits != 64))
    return 0;
  return bits / 8;
}

// Reads a parameter after `.param`, up to the next comma or parenthesis. False if malformed.
bool read_parameter(llvm::StringRef &rest, CubinKernel &kernel) {
  uint32_t bytes = 0, alignment = 0;
  bool is_pointer = false;
  for (llvm::StringRef token; !(rest = rest.ltrim()).empty();) {
    if (rest[0] == ',' || rest[0] == ')')
      break;
    token = take_token(rest);
    if (uint32_t of_type = bytes_of(token))
      bytes = of_type;
    is_pointer |= token == ".ptr"; // then `.align` describes the pointee
    if (token == ".align" && take_token(rest).getAsInteger(10, alignment))
      return false;
    if (token != "[")
      continue;
    uint32_t count = 0;
    if (take_token(rest).getAsInteger(10, count) || take_token(rest) != "]")
      return false;
    bytes *= count;
  }
  if (alignment == 0 || is_pointer)
    alignment = bytes;
  if (bytes == 0)
    return false;
  uint32_t offset = (uint32_t(kernel.parameter_bytes) + alignment - 1) / alignment * alignment;
  kernel.parameters.push_back({offset, bytes});
  kernel.parameter_bytes = int(offset + bytes);
  return true;
}

bool read_kernel(llvm::StringRef &rest, CubinKernel &kernel) {
  kernel.name = take_token(rest).str();
  if (take_token(rest) != "(")
    return false;
  for (;;) {
    llvm::StringRef token = take_token(rest);
    if (token == ")")
      return rest.contains('}');
    if (token == ",")
      continue;
    if (token != ".param" || !read_parameter(rest, kernel))
      return false;
  }
}

// Reads the function name after `.extern .func`; a result in parentheses may come first.
std::string read_called(llvm::StringRef &rest) {
  std::string name = take_token(rest).str();
  if (name != "(")
    return name;
  while (!rest.empty() && take_token(rest) != ")")
    ;
  return take_token(rest).str();
}

} // namespace

CubinReading read_ptx(const std::string &text) {
  CubinReading reading;
  CubinContents &contents = reading.contents;
  bool has_version = false, is_elsewhere = false;
  for (llvm::StringRef rest = text, token; !(token = take_token(rest)).empty();) {
    has_version |= token == ".version";
    if (token == ".target") {
      llvm::StringRef machine = take_token(rest);
      if (!machine.consume_front("sm_") || machine.getAsInteger(10, contents.sm))
        reading.problem = "it is for `" + machine.str() + "`, which later GPUs cannot run";
      contents.gpu = "compute_" + machine.str();
    }
    if (token == ".func" && is_elsewhere)
      contents.calls.push_back(read_called(rest));
    is_elsewhere = token == ".extern";
    if (token == ".entry" && !read_kernel(rest, contents.kernels.emplace_back()))
      reading.problem = "what its kernel is given cannot be read";
    if (!reading.problem.empty())
      return reading;
  }
  llvm::sort(contents.calls);
  if (!has_version || contents.gpu.empty() || contents.kernels.empty())
    reading.problem = "it is not PTX with a kernel";
  return reading;
}

} // namespace tritonc
