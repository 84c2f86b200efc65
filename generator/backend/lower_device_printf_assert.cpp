// lower_device_printf_assert: lowers print and assert of a kernel to the driver's functions
// `vprintf` and `__assertfail`.
//
//     @format = "n = {i32}, x = {f32[8]}"
//     call void @tritonc.print(ptr @format, i32 0, i32 -1, i32 0, i64 0)
//     call void @tritonc.print(ptr @format, i32 0, i32 0, i32 0, i64 %n)
//     ...
//     call void @tritonc.print(ptr @format, i32 0, i32 1, i32 %i, i64 %x)
//     ...
//     call void @tritonc.assert_fail(ptr @text, ptr @file, i32 12, i32 %i)
//  =>
//     call void @tritonc_print(i64 %n)            ; vprintf("program (...): n = %d, x = f32[8]\n")
//     ...
//     call void @tritonc_element(i32 %i, i64 %x)  ; vprintf("program (...): x[%u] = %.9g\n")
//     ...
//     call void @tritonc_assert(i32 %i)           ; vprintf("...\n"), then __assertfail
//
// Method. Each printed value and each assertion gets its own function, because a thread that holds
// 100 elements calls it 100 times. Thread 0 prints the text and the scalars of a `print` statement
// as one line. Many threads hold the elements of a tile, and they cannot build one line without a
// barrier. So each element is a separate line. For large tiles the pass skips the elements that the
// emulator skips. Values print as C prints them. 8- and 16-bit integers become 32-bit integers.
// Floats have enough digits to be unique: 17 for double, 9 for all other float types.
//
// Needs: a module before lower_target_ops; constant string literals.
// Ensures: no REPORT operation remains, and no unused string literal of one.
// Limits: lines of different threads come in any order. The driver keeps the last megabyte of lines
// until the program waits for the GPU. "program" is the block, as in the emulator.
// Tested by tests/unit/backend/lower_device_printf_assert_test.cpp.

#include "backend/lower_device_printf_assert.h"

#include "backend/target_ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <cassert>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tritonc {
namespace {

using Calls = llvm::SmallVector<llvm::CallInst *>;

// --- Format strings with placeholders ------------------------------------------------------------

// "{f32[4,8]}" in a format string, and the text before it.
struct Place {
  std::string before, type;
  llvm::SmallVector<uint32_t> shape; // empty: a scalar, or no shape given
};

struct Text {
  std::vector<Place> places;
  std::string behind;
};

Place read_place(std::string before, llvm::StringRef inside) {
  Place place{std::move(before), inside.take_until([](char c) { return c == '['; }).str(), {}};
  llvm::SmallVector<llvm::StringRef> extents;
  inside.drop_front(place.type.size()).trim("[]").split(extents, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef extent : extents) {
    [[maybe_unused]] bool malformed = extent.getAsInteger(10, place.shape.emplace_back());
    assert(!malformed && "a shape as ir/checks.h says");
  }
  return place;
}

Text read_text(llvm::StringRef text) {
  Text read;
  while (!text.empty()) {
    if (text.consume_front("{{") || text.consume_front("}}")) {
      read.behind += text.data()[-1];
    } else if (text.consume_front("{")) {
      auto [inside, rest] = text.split('}');
      read.places.push_back(read_place(std::move(read.behind), inside));
      read.behind.clear();
      text = rest;
    } else {
      read.behind += text.front();
      text = text.drop_front();
    }
  }
  return read;
}

// The string literal in a constant operand.
llvm::StringRef constant_text(const llvm::Value *operand) {
  auto *global = llvm::cast<llvm::GlobalVariable>(operand);
  auto *bytes = llvm::dyn_cast<llvm::ConstantDataSequential>(global->getInitializer());
  return bytes ? bytes->getAsCString() : ""; // LLVM stores an empty string as zeros
}

// `text` as a printf format: `%` becomes `%%`.
std::string escaped(llvm::StringRef text) {
  std::string out;
  for (char c : text)
    out += std::string(c == '%' ? 2 : 1, c);
  return out;
}

// The name that a tile's elements print with: "acc" from ", acc = ".
std::string name_in(llvm::StringRef before) { return before.ltrim(" ,").rtrim(" =").str(); }

// The condition for the driver's message "Assertion `...` failed".
std::string condition_of(const Text &text) {
  std::string all = text.places.empty() ? text.behind : text.places[0].before;
  llvm::StringRef rest = all;
  rest.consume_back(", at element ");
  if (!rest.consume_front("assertion `"))
    return rest.str();
  auto [condition, reason] = rest.rsplit("` failed");
  return (condition + reason).str();
}

uint64_t elements_of(const Place &place) {
  uint64_t count = 1;
  for (uint32_t extent : place.shape)
    count *= extent;
  return count;
}

// "f32[4, 8]"
std::string type_text(const Place &place) {
  std::string extents;
  for (uint32_t extent : place.shape)
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return place.type + "[" + extents + "]";
}

// --- Calls of the driver's functions -------------------------------------------------------------

uint32_t immediate(const llvm::CallInst &call, unsigned operand) {
  return uint32_t(llvm::cast<llvm::ConstantInt>(call.getArgOperand(operand))->getZExtValue());
}

// Builds one function that prints or asserts.
class Report {
public:
  Report(llvm::Module &module, llvm::StringRef name, llvm::ArrayRef<llvm::Type *> parameters)
      : module_(module), builder_(module.getContext()) {
    auto *type = llvm::FunctionType::get(builder_.getVoidTy(), parameters, /*isVarArg=*/false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoInline);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
  }

  llvm::IRBuilder<> &builder() { return builder_; }
  llvm::Value *parameter(unsigned i) { return function_->getArg(i); }

  void add(llvm::StringRef text) { format_ += escaped(text); }
  void add(llvm::StringRef conversion, llvm::Value *value) {
    format_ += conversion;
    values_.push_back(value);
  }

  void add_program() {
    add("program (");
    add("%u", call_target_op(builder_, TargetOp::ctaid_x));
    add(", ");
    add("%u", call_target_op(builder_, TargetOp::ctaid_y));
    add(", ");
    add("%u", call_target_op(builder_, TargetOp::ctaid_z));
    add(")");
  }

  // A value in the low bits of `bits`.
  void add_value(const std::string &type, llvm::Value *bits) {
    if (type == "i1") {
      llvm::Value *no = string("false"), *yes = string("true");
      llvm::Value *is_true = builder_.CreateTrunc(bits, builder_.getInt1Ty());
      return add("%s", builder_.CreateSelect(is_true, yes, no));
    }
    if (type == "f64")
      return add("%.17g",
                 without_sign_of_nan(builder_.CreateBitCast(bits, builder_.getDoubleTy())));
    if (llvm::Value *number = float_of(type, bits))
      return add("%.9g", builder_.CreateFPExt(without_sign_of_nan(number), builder_.getDoubleTy()));
    unsigned width = 0;
    [[maybe_unused]] bool malformed = llvm::StringRef(type).drop_front().getAsInteger(10, width);
    assert(!malformed && "a type as ir/checks.h says");
    bool is_signed = type[0] == 'i';
    if (width == 64)
      return add(is_signed ? "%lld" : "%llu", bits);
    llvm::Value *narrow = builder_.CreateTrunc(bits, builder_.getIntNTy(width));
    add(is_signed ? "%d" : "%u", builder_.CreateIntCast(narrow, builder_.getInt32Ty(), is_signed));
  }

  // "1, 3" for element 11 of f32[4,8].
  void add_coordinates(llvm::ArrayRef<llvm::Value *> coordinates) {
    for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
      add(i ? ", " : "");
      add("%u", coordinate);
    }
  }

  llvm::SmallVector<llvm::Value *> coordinates(const Place &place, llvm::Value *element) {
    llvm::SmallVector<llvm::Value *> all(place.shape.size());
    for (size_t d = place.shape.size(); d-- > 0;) {
      all[d] = d ? builder_.CreateURem(element, builder_.getInt32(place.shape[d])) : element;
      element = builder_.CreateUDiv(element, builder_.getInt32(place.shape[d]));
    }
    return all;
  }

  // Whether the element is printed: near an end of each long axis.
  llvm::Value *is_shown(const Place &place, llvm::ArrayRef<llvm::Value *> coordinates) {
    llvm::Value *shown = builder_.getTrue();
    for (auto [extent, coordinate] : llvm::zip(place.shape, coordinates)) {
      if (extent <= longest_axis_printed_in_full)
        continue;
      llvm::Value *left_out = builder_.CreateICmpULT(
          builder_.CreateSub(coordinate, builder_.getInt32(printed_at_each_end)),
          builder_.getInt32(extent - 2 * printed_at_each_end));
      shown = builder_.CreateAnd(shown, builder_.CreateNot(left_out));
    }
    return shown;
  }

  void return_unless(llvm::Value *condition) {
    llvm::LLVMContext &context = module_.getContext();
    llvm::BasicBlock *leave = llvm::BasicBlock::Create(context, "leave", function_);
    llvm::BasicBlock *go_on = llvm::BasicBlock::Create(context, "go_on", function_);
    builder_.CreateCondBr(condition, go_on, leave);
    builder_.SetInsertPoint(leave);
    builder_.CreateRetVoid();
    builder_.SetInsertPoint(go_on);
  }

  // Calls vprintf with the format and the values added so far. Their memory has the layout of C's
  // variable arguments.
  void print_line() {
    llvm::SmallVector<llvm::Type *> types;
    for (llvm::Value *value : values_)
      types.push_back(value->getType());
    llvm::Type *pointer = builder_.getPtrTy();
    llvm::Value *arguments = llvm::ConstantPointerNull::get(builder_.getPtrTy());
    if (!values_.empty()) {
      auto *type = llvm::StructType::get(module_.getContext(), types);
      llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
      llvm::Value *memory = at_entry.CreateAlloca(type);
      for (auto [i, value] : llvm::enumerate(values_))
        builder_.CreateStore(value, builder_.CreateStructGEP(type, memory, unsigned(i)));
      arguments = builder_.CreateAddrSpaceCast(memory, pointer);
    }
    llvm::FunctionCallee vprintf =
        module_.getOrInsertFunction("vprintf", builder_.getInt32Ty(), pointer, pointer);
    builder_.CreateCall(vprintf, {string(format_ + "\n"), arguments});
  }

  // Calls __assertfail, which ends the launch.
  void fail(llvm::StringRef message, llvm::StringRef file, uint32_t line, llvm::StringRef kernel) {
    llvm::Type *pointer = builder_.getPtrTy(), *size = builder_.getInt64Ty();
    llvm::FunctionCallee assertfail =
        module_.getOrInsertFunction("__assertfail", builder_.getVoidTy(), pointer, pointer,
                                    builder_.getInt32Ty(), pointer, size);
    builder_.CreateCall(assertfail, {string(message), string(file), builder_.getInt32(line),
                                     string(kernel), builder_.getInt64(1)}); // bytes per character
  }

  llvm::Function *finish() {
    builder_.CreateRetVoid();
    return function_;
  }

private:
  // A generic pointer to a string literal in global memory.
  llvm::Value *string(llvm::StringRef text) {
    llvm::Constant *bytes = llvm::ConstantDataArray::getString(module_.getContext(), text);
    auto *global = new llvm::GlobalVariable(
        module_, bytes->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, bytes,
        "tritonc_text", nullptr, llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/1);
    return builder_.CreateAddrSpaceCast(global, builder_.getPtrTy());
  }

  // C prints the sign of a NaN; the emulator does not.
  llvm::Value *without_sign_of_nan(llvm::Value *number) {
    return builder_.CreateSelect(builder_.CreateFCmpUNO(number, number),
                                 llvm::ConstantFP::getNaN(number->getType()), number);
  }

  // Null for integer types and for double.
  llvm::Value *float_of(const std::string &type, llvm::Value *bits) {
    llvm::Type *f32 = builder_.getFloatTy(), *half = builder_.getHalfTy();
    llvm::Type *i32 = builder_.getInt32Ty(), *i16 = builder_.getInt16Ty();
    llvm::Value *word = builder_.CreateTrunc(bits, i32);
    if (type == "f32")
      return builder_.CreateBitCast(word, f32);
    if (type == "bf16")
      return builder_.CreateBitCast(builder_.CreateShl(word, 16), f32);
    auto from_half = [&](llvm::Value *code) {
      return builder_.CreateFPExt(builder_.CreateBitCast(builder_.CreateTrunc(code, i16), half),
                                  f32);
    };
    if (type == "f16")
      return from_half(word);
    if (type == "e5m2") // the upper byte of a half
      return from_half(builder_.CreateShl(word, 8));
    if (type != "e4m3")
      return nullptr;
    // The exponent bias is 7, but 15 for a half. All bits set is NaN.
    llvm::Value *magnitude = builder_.CreateAnd(word, 0x7f);
    llvm::Value *sign = builder_.CreateShl(builder_.CreateAnd(word, 0x80), 8);
    llvm::Value *scaled = from_half(builder_.CreateOr(builder_.CreateShl(magnitude, 7), sign));
    llvm::Value *number = builder_.CreateFMul(scaled, llvm::ConstantFP::get(f32, 256));
    llvm::Value *is_nan = builder_.CreateICmpEQ(magnitude, builder_.getInt32(0x7f));
    return builder_.CreateSelect(is_nan, llvm::ConstantFP::getNaN(f32), number);
  }

  llvm::Module &module_;
  llvm::IRBuilder<> builder_;
  llvm::Function *function_;
  std::string format_;
  llvm::SmallVector<llvm::Value *> values_;
};

// --- The operations ------------------------------------------------------------------------------

constexpr uint32_t no_value = uint32_t(-1);

class Reports {
public:
  explicit Reports(llvm::Module &module) : module_(module) {}

  void run() {
    for (llvm::Function &function : module_)
      for (llvm::BasicBlock &block : function)
        for (const Calls &together : find_calls(block))
          replace(together);
    for (TargetOp op : {TargetOp::print, TargetOp::assert_fail})
      if (llvm::Function *declared =
              module_.getFunction(("tritonc." + target_op_info(op).name).str()))
        declared->eraseFromParent();
    for (llvm::GlobalVariable *text : texts_)
      if (text->use_empty() && text->hasLocalLinkage())
        text->eraseFromParent();
  }

private:
  static std::optional<TargetOp> op_of(const llvm::CallInst &call) {
    const llvm::Function *callee = call.getCalledFunction();
    return callee ? target_op_named(callee->getName()) : std::nullopt;
  }

  // Groups of calls that print one line: thread 0's calls of one statement, or a single other call.
  static std::vector<Calls> find_calls(llvm::BasicBlock &block) {
    std::vector<Calls> found;
    for (llvm::Instruction &instruction : block) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      std::optional<TargetOp> op = call ? op_of(*call) : std::nullopt;
      if (op == TargetOp::assert_fail)
        found.push_back({call});
      if (op != TargetOp::print)
        continue;
      if (!found.empty() && is_of_line(*call, *found.back().front()))
        found.back().push_back(call);
      else
        found.push_back({call});
    }
    return found;
  }

  static bool is_of_line(const llvm::CallInst &call, const llvm::CallInst &first) {
    return op_of(first) == TargetOp::print && immediate(first, 2) == no_value &&
           immediate(call, 1) == immediate(first, 1) && immediate(call, 2) != no_value &&
           place_of(call).shape.empty();
  }

  static Place place_of(const llvm::CallInst &call) {
    std::vector<Place> places = read_text(constant_text(call.getArgOperand(0))).places;
    uint32_t value = immediate(call, 2);
    assert(value < places.size() && "a value for each place");
    return places[value];
  }

  void replace(const Calls &together) {
    llvm::CallInst *last = together.back();
    llvm::SmallVector<llvm::Value *> arguments;
    llvm::Function *function = nullptr;
    if (op_of(*last) == TargetOp::assert_fail) {
      function = assertion(*last);
      arguments = {last->getArgOperand(3)};
    } else if (immediate(*together.front(), 2) == no_value) {
      function = line(together);
      for (llvm::CallInst *call : llvm::drop_begin(together))
        arguments.push_back(call->getArgOperand(4));
    } else {
      function = element(*last);
      arguments = {last->getArgOperand(3), last->getArgOperand(4)};
    }
    llvm::IRBuilder<> builder(last);
    builder.CreateCall(function, arguments);
    for (llvm::CallInst *call : together) {
      for (llvm::Value *operand : call->args())
        if (auto *text = llvm::dyn_cast<llvm::GlobalVariable>(operand))
          texts_.insert(text);
      call->eraseFromParent();
    }
  }

  // The line that thread 0 prints. The optimizer may copy a statement, and may move some of its
  // calls to another basic block.
  llvm::Function *line(const Calls &together) {
    Text text = read_text(constant_text(together.front()->getArgOperand(0)));
    std::map<uint32_t, unsigned> parameters; // by value
    for (llvm::CallInst *call : llvm::drop_begin(together))
      parameters.try_emplace(immediate(*call, 2), unsigned(parameters.size()));
    llvm::SmallVector<llvm::Type *> types(together.size() - 1,
                                          llvm::Type::getInt64Ty(module_.getContext()));
    Report report(module_, "tritonc_print", types);
    report.add_program();
    report.add(": ");
    for (auto [i, place] : llvm::enumerate(text.places)) {
      report.add(place.before);
      auto parameter = parameters.find(uint32_t(i));
      if (parameter != parameters.end())
        report.add_value(place.type, report.parameter(parameter->second));
      else
        report.add(type_text(place));
    }
    report.add(text.behind);
    report.print_line();
    return report.finish();
  }

  llvm::Function *element(const llvm::CallInst &call) {
    llvm::Function *&function = elements_[{call.getArgOperand(0), immediate(call, 2)}];
    if (function)
      return function;
    Place place = place_of(call);
    llvm::LLVMContext &context = module_.getContext();
    Report report(module_, "tritonc_element",
                  {llvm::Type::getInt32Ty(context), llvm::Type::getInt64Ty(context)});
    llvm::SmallVector<llvm::Value *> coordinates = report.coordinates(place, report.parameter(0));
    if (elements_of(place) > max_printed_in_full)
      report.return_unless(report.is_shown(place, coordinates));
    report.add_program();
    report.add(": " + name_in(place.before));
    if (!coordinates.empty()) {
      report.add("[");
      report.add_coordinates(coordinates);
      report.add("]");
    }
    report.add(" = ");
    report.add_value(place.type, report.parameter(1));
    report.print_line();
    return function = report.finish();
  }

  llvm::Function *assertion(const llvm::CallInst &call) {
    auto key = std::tuple(call.getArgOperand(0), call.getArgOperand(1), immediate(call, 2),
                          call.getFunction());
    llvm::Function *&function = assertions_[key];
    if (function)
      return function;
    Text text = read_text(constant_text(call.getArgOperand(0)));
    llvm::StringRef file = constant_text(call.getArgOperand(1));
    uint32_t line = immediate(call, 2);
    Report report(module_, "tritonc_assert", {llvm::Type::getInt32Ty(module_.getContext())});
    report.add(file);
    report.add(":" + std::to_string(line) + ": error: ");
    for (const Place &place : text.places) {
      report.add(place.before);
      report.add("(");
      report.add_coordinates(report.coordinates(place, report.parameter(0)));
      report.add(")");
    }
    report.add(text.behind + " [kernel ");
    report.add(call.getFunction()->getName());
    report.add(", ");
    report.add_program();
    report.add("]");
    report.print_line();
    report.fail(condition_of(text), file, line, call.getFunction()->getName());
    return function = report.finish();
  }

  llvm::Module &module_;
  std::map<std::pair<const llvm::Value *, uint32_t>, llvm::Function *> elements_;
  std::map<std::tuple<const llvm::Value *, const llvm::Value *, uint32_t, const llvm::Function *>,
           llvm::Function *>
      assertions_;
  llvm::SetVector<llvm::GlobalVariable *> texts_;
};

} // namespace

void lower_device_printf_assert(llvm::Module &module) { Reports(module).run(); }

} // namespace tritonc
