// Writes the object file. See object.h.
//
// Tested by tests/unit/emit/object_test.cpp.

#include "emit/object/object.h"

#include "emit/object/object_seal.h"

#include <tritonc/descriptor.hpp>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSectionELF.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCSymbolELF.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace tritonc {

namespace {

void register_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
  });
}

/// LLVM's object streamer and all objects that it refers to, in the order of construction.
class ObjectStream {
public:
  /// Returns the reason if the triple is not supported; otherwise "".
  std::string open(const llvm::Triple &triple) {
    register_targets();
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!target)
      return error;
    bool is_supported = triple.isOSBinFormatELF() && triple.isLittleEndian() &&
                        triple.isArch64Bit() && (triple.isX86() || triple.isAArch64());
    if (!is_supported)
      return "only ELF for x86-64 and aarch64 is supported";
    registers_.reset(target->createMCRegInfo(triple));
    assembler_.reset(target->createMCAsmInfo(*registers_, triple, options_));
    subtarget_.reset(target->createMCSubtargetInfo(triple, "", ""));
    instructions_.reset(target->createMCInstrInfo());
    context_ = std::make_unique<llvm::MCContext>(triple, assembler_.get(), registers_.get(),
                                                 subtarget_.get(), nullptr, &options_);
    sections_.reset(target->createMCObjectFileInfo(*context_, /*PIC=*/true));
    context_->setObjectFileInfo(sections_.get());
    std::unique_ptr<llvm::MCAsmBackend> backend(
        target->createMCAsmBackend(*subtarget_, *registers_, options_));
    std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out_);
    std::unique_ptr<llvm::MCCodeEmitter> emitter(
        target->createMCCodeEmitter(*instructions_, *context_));
    streamer_.reset(target->createMCObjectStreamer(
        triple, *context_, std::move(backend), std::move(writer), std::move(emitter), *subtarget_));
    return "";
  }

  llvm::MCContext &context() { return *context_; }
  llvm::MCStreamer &streamer() { return *streamer_; }

  std::string finish() {
    streamer_->finish();
    return std::string(bytes_);
  }

private:
  llvm::MCTargetOptions options_;
  llvm::SmallString<0> bytes_;
  llvm::raw_svector_ostream out_{bytes_};
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembler_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCObjectFileInfo> sections_;
  std::unique_ptr<llvm::MCStreamer> streamer_;
};

using Label = llvm::MCSymbol *;

/// Writes a struct of the runtime, member by member in order, with zeros as padding. To write past
/// the offset of a member is an internal error.
class Record {
public:
  Record(llvm::MCContext &context, llvm::MCStreamer &streamer)
      : context_(context), streamer_(streamer) {}

  void number(size_t offset, int64_t value, unsigned size) {
    pad_to(offset);
    streamer_.emitIntValue(uint64_t(value), size);
    at_ += size;
  }
  void pointer(size_t offset, Label to) {
    pad_to(offset);
    if (to)
      streamer_.emitValue(llvm::MCSymbolRefExpr::create(to, context_), 8);
    else
      streamer_.emitIntValue(0, 8);
    at_ += 8;
  }
  void pointer_into(size_t offset, Label to, size_t displacement) {
    pad_to(offset);
    streamer_.emitValue(
        llvm::MCBinaryExpr::createAdd(llvm::MCSymbolRefExpr::create(to, context_),
                                      llvm::MCConstantExpr::create(int64_t(displacement), context_),
                                      context_),
        8);
    at_ += 8;
  }
  void end(size_t size) {
    pad_to(size);
    at_ = 0;
  }

private:
  void pad_to(size_t offset) {
    assert(offset >= at_ && "members are written in their order");
    for (; at_ < offset; at_++)
      streamer_.emitIntValue(0, 1);
  }

  llvm::MCContext &context_;
  llvm::MCStreamer &streamer_;
  size_t at_ = 0;
};

class ObjectWriter {
public:
  ObjectWriter(const Tables &tables, const Bundle *bundle, ObjectStream &stream)
      : tables_(tables), bundle_(bundle), context_(stream.context()), streamer_(stream.streamer()),
        record_(context_, streamer_) {}

  void write() {
    // Without this section linkers make the stack of the program executable.
    open(".note.GNU-stack", llvm::ELF::SHT_PROGBITS, 0);
    open(seal_section, llvm::ELF::SHT_PROGBITS, llvm::ELF::SHF_EXCLUDE);
    streamer_.emitZeros(sizeof(uint64_t)); // seal_object writes it
    constants();
    states();
    descriptors();
  }

private:
  // ---- data without pointers ----

  void constants() {
    open(".rodata.tritonc", llvm::ELF::SHT_PROGBITS, llvm::ELF::SHF_ALLOC);
    for (const std::string &image : tables_.images) {
      images_.push_back(bundle_ ? nullptr : begin(64));
      if (!bundle_)
        streamer_.emitBytes(image);
    }
    for (const std::vector<int64_t> &words : tables_.code) {
      code_.push_back(begin(8));
      for (int64_t word : words)
        streamer_.emitIntValue(uint64_t(word), 8);
    }
    for (const KernelTable &kernel : tables_.kernels) {
      choices_.push_back(kernel.choices.empty() ? nullptr : begin(4));
      for (int32_t choice : kernel.choices)
        streamer_.emitIntValue(uint64_t(choice), 4);
      for (const TuningTable &tuning : kernel.tunings)
        tuning_numbers_.push_back({numbers(tuning.axes, 4), numbers(tuning.problems, 4),
                                   numbers(tuning.times, 2), numbers(tuning.costs, 2),
                                   numbers(tuning.schedules, 2)});
    }
    collect_strings();
    for (auto &[text, label] : strings_) {
      label = begin(1);
      streamer_.emitBytes(text + '\0');
    }
  }

  template <typename T> Label numbers(const std::vector<T> &values, unsigned bytes) {
    Label label = begin(bytes);
    for (T value : values)
      streamer_.emitIntValue(uint64_t(value), bytes);
    return label;
  }

  void collect_strings() {
    if (bundle_)
      strings_[bundle_->name] = nullptr;
    for (const auto &rows : tables_.parameters)
      for (const ParameterRow &row : rows)
        strings_[row.name] = nullptr;
    for (const auto &rows : tables_.constants)
      for (const ConstantRow &row : rows)
        strings_[row.name] = nullptr;
    for (const auto &rows : tables_.requirements)
      for (const RequirementRow &row : rows)
        strings_[row.text] = nullptr;
    for (const auto &rows : tables_.hidden)
      for (const HiddenRow &row : rows)
        if (row.is_number())
          strings_[row.text] = nullptr;
    for (const KernelTable &kernel : tables_.kernels) {
      strings_[kernel.instantiation->display] = nullptr;
      strings_[kernel.gpus] = nullptr;
      for (const TuningTable &tuning : kernel.tunings) {
        strings_[tuning.gpu] = nullptr;
        for (const std::string &schedule : tuning.schedule_names)
          strings_[schedule] = nullptr;
      }
      for (const VariantRow &row : kernel.variants) {
        collect_strings(row);
        for (const VariantRow &specialized : row.specialized)
          collect_strings(specialized);
      }
    }
  }

  void collect_strings(const VariantRow &row) {
    strings_[row.variant->entry] = nullptr;
    strings_[row.variant->plan.specialization] = nullptr;
    for (const ImageRow &image : row.images) {
      strings_[image.image->gpu] = nullptr;
      strings_[text_of(image.image->launch.schedule)] = nullptr;
    }
  }

  void states() {
    if (tables_.state_count == 0)
      return;
    open(".bss.tritonc", llvm::ELF::SHT_NOBITS, llvm::ELF::SHF_ALLOC | llvm::ELF::SHF_WRITE);
    states_ = begin(alignof(abi::image_state));
    streamer_.emitZeros(tables_.state_count * sizeof(abi::image_state));
  }

  // ---- descriptors ----

  void descriptors() {
    // The program does not change it, but the loader writes addresses into it.
    open(".data.rel.ro.tritonc", llvm::ELF::SHT_PROGBITS,
         llvm::ELF::SHF_ALLOC | llvm::ELF::SHF_WRITE);
    if (bundle_) {
      bundle_record_ = begin(8);
      bundle();
    }
    for (const auto &rows : tables_.parameters) {
      parameters_.push_back(rows.empty() ? nullptr : begin(8));
      for (const ParameterRow &row : rows)
        parameter(row);
    }
    for (const auto &rows : tables_.constants) {
      constants_.push_back(rows.empty() ? nullptr : begin(8));
      for (const ConstantRow &row : rows)
        constant(row);
    }
    for (const auto &rows : tables_.requirements) {
      requirements_.push_back(rows.empty() ? nullptr : begin(8));
      for (const RequirementRow &row : rows)
        requirement(row);
    }
    for (const TensorMapRow &row : tables_.maps) {
      maps_.push_back(begin(8));
      tensor_map(row);
    }
    for (const auto &rows : tables_.hidden) {
      hidden_.push_back(rows.empty() ? nullptr : begin(8));
      for (const HiddenRow &row : rows)
        hidden_parameter(row);
    }
    for (const LaunchConfigRow &row : tables_.launches) {
      launches_.push_back(begin(8));
      launch(row);
    }
    for (size_t i = 0; i < tables_.kernels.size(); i++)
      kernel(tables_.kernels[i], choices_[i]);
  }

  void parameter(const ParameterRow &row) {
    using S = abi::parameter;
    record_.pointer(offsetof(S, name), strings_[row.name]);
    record_.number(offsetof(S, offset), row.offset, sizeof(S::offset));
    record_.number(offsetof(S, aligned), row.aligned, sizeof(S::aligned));
    record_.number(offsetof(S, kind), int64_t(row.kind), sizeof(S::kind));
    record_.number(offsetof(S, nullable), row.nullable, sizeof(S::nullable));
    record_.number(offsetof(S, bytes), row.bytes, sizeof(S::bytes));
    record_.end(sizeof(S));
  }

  void constant(const ConstantRow &row) {
    using S = abi::constant;
    record_.pointer(offsetof(S, name), strings_[row.name]);
    record_.number(offsetof(S, offset), row.offset, sizeof(S::offset));
    record_.number(offsetof(S, bytes), row.bytes, sizeof(S::bytes));
    record_.end(sizeof(S));
  }

  void requirement(const RequirementRow &row) {
    using S = abi::requirement;
    record_.pointer(offsetof(S, condition), code_[row.code]);
    record_.pointer(offsetof(S, text), strings_[row.text]);
    record_.end(sizeof(S));
  }

  void tensor_map(const TensorMapRow &row) {
    using S = abi::tensor_map;
    record_.number(offsetof(S, parameter), row.parameter, sizeof(S::parameter));
    record_.number(offsetof(S, data_type), row.data_type, sizeof(S::data_type));
    record_.number(offsetof(S, element_bytes), row.element_bytes, sizeof(S::element_bytes));
    record_.number(offsetof(S, swizzle), row.swizzle, sizeof(S::swizzle));
    record_.number(offsetof(S, rank), int64_t(row.sizes.size()), sizeof(S::rank));
    record_.pointer(offsetof(S, offset), code_[row.offset]);
    for (size_t i = 0; i < row.sizes.size(); i++)
      record_.pointer(offsetof(S, size) + i * 8, code_[row.sizes[i]]);
    for (size_t i = 0; i < row.strides.size(); i++)
      record_.pointer(offsetof(S, stride) + i * 8, code_[row.strides[i]]);
    for (size_t i = 0; i < row.box.size(); i++)
      record_.number(offsetof(S, box) + i * 4, row.box[i], 4);
    record_.end(sizeof(S));
  }

  void hidden_parameter(const HiddenRow &row) {
    using S = abi::hidden_parameter;
    bool is_map = row.kind == abi::hidden_kind::tensor_map, is_number = row.is_number();
    record_.pointer(offsetof(S, value), is_number ? code_[row.value] : nullptr);
    record_.pointer(offsetof(S, text), is_number ? strings_[row.text] : nullptr);
    record_.pointer(offsetof(S, map), is_map ? maps_[row.map] : nullptr);
    record_.number(offsetof(S, kind), int64_t(row.kind), sizeof(S::kind));
    record_.end(sizeof(S));
  }

  void launch(const LaunchConfigRow &row) {
    using S = abi::launch_config;
    record_.pointer(offsetof(S, guards), requirements_[row.guards]);
    record_.pointer(offsetof(S, hidden), hidden_[row.hidden]);
    record_.pointer(offsetof(S, cost), row.cost ? code_[*row.cost] : nullptr);
    for (size_t axis = 0; axis < row.blocks.size(); axis++)
      record_.pointer(offsetof(S, blocks) + axis * 8, code_[row.blocks[axis]]);
    record_.pointer(offsetof(S, workspace), row.workspace ? code_[*row.workspace] : nullptr);
    record_.pointer(offsetof(S, shared_bytes),
                    row.shared_bytes ? code_[*row.shared_bytes] : nullptr);
    record_.number(offsetof(S, guard_count), int64_t(tables_.requirements[row.guards].size()), 4);
    record_.number(offsetof(S, hidden_count), int64_t(tables_.hidden[row.hidden].size()), 4);
    record_.number(offsetof(S, cluster), row.cluster, sizeof(S::cluster));
    record_.number(offsetof(S, part), int64_t(row.part), sizeof(S::part));
    record_.number(offsetof(S, starts_early), row.starts_early, sizeof(S::starts_early));
    record_.end(sizeof(S));
  }

  void bundle() {
    using S = abi::bundle;
    record_.pointer(offsetof(S, name), strings_[bundle_->name]);
    record_.number(offsetof(S, length), int64_t(bundle_->bytes.size()), sizeof(S::length));
    for (size_t i = 0; i < 2; i++)
      record_.number(offsetof(S, digest) + i * 8, int64_t(bundle_->digest[i]), 8);
    record_.end(sizeof(S));
  }

  void image(const ImageRow &row) {
    using S = abi::image;
    record_.pointer(offsetof(S, bytes), images_[row.bytes]);
    record_.number(offsetof(S, size), int64_t(tables_.images[row.bytes].size()), sizeof(S::size));
    record_.pointer_into(offsetof(S, state), states_, row.state * sizeof(abi::image_state));
    record_.number(offsetof(S, sm), row.image->sm, sizeof(S::sm));
    record_.number(offsetof(S, suffix), row.image->suffix, sizeof(S::suffix));
    record_.pointer(offsetof(S, host), host_symbol(row.image->host_symbol));
    record_.pointer(offsetof(S, launch), row.launch ? launches_[*row.launch] : nullptr);
    record_.pointer(offsetof(S, bundle), bundle_record_);
    record_.number(offsetof(S, offset), bundle_ ? int64_t(bundle_->offsets[row.bytes]) : 0,
                   sizeof(S::offset));
    record_.end(sizeof(S));
  }

  // The archive of host code defines it.
  Label host_symbol(const std::string &name) {
    if (name.empty())
      return nullptr;
    Label symbol = context_.getOrCreateSymbol(name);
    streamer_.emitSymbolAttribute(symbol, llvm::MCSA_Global);
    streamer_.emitSymbolAttribute(symbol, llvm::MCSA_Hidden);
    return symbol;
  }

  void info(const Image &from, const std::string &specialization) {
    using S = image_info;
    record_.pointer(offsetof(S, gpu), strings_[from.gpu]);
    record_.pointer(offsetof(S, schedule), strings_[text_of(from.launch.schedule)]);
    record_.number(offsetof(S, threads), from.threads, 4);
    record_.number(offsetof(S, registers), from.registers, 4);
    record_.number(offsetof(S, shared_bytes), from.shared_bytes, 4);
    record_.number(offsetof(S, static_shared_bytes), from.static_shared, 4);
    record_.number(offsetof(S, spill_stores), from.spill_stores, 4);
    record_.number(offsetof(S, spill_loads), from.spill_loads, 4);
    record_.number(offsetof(S, stack_bytes), from.stack_bytes, 4);
    record_.number(offsetof(S, cubin_bytes), from.cubin_bytes, 4);
    record_.pointer(offsetof(S, specialization), strings_[specialization]);
    record_.end(sizeof(S));
  }

  /// The labels of a variant's parts.
  struct Places {
    Label images = nullptr, infos = nullptr;
    size_t first_info = 0; // index in the array at `infos`
    Label specialized = nullptr;
  };

  void variant(const VariantRow &row, const Places &places) {
    using S = abi::variant;
    record_.pointer(offsetof(S, entry), strings_[row.variant->entry]);
    for (size_t axis = 0; axis < 3; axis++)
      record_.pointer(offsetof(S, grid) + axis * 8,
                      axis < row.grid.size() ? code_[row.grid[axis]] : nullptr);
    record_.pointer(offsetof(S, requirements), requirements_[row.requirements]);
    record_.pointer(offsetof(S, parameters), parameters_[row.parameters]);
    record_.pointer(offsetof(S, images), places.images);
    if (places.infos)
      record_.pointer_into(offsetof(S, infos), places.infos,
                           places.first_info * sizeof(image_info));
    record_.number(offsetof(S, requirement_count),
                   int64_t(tables_.requirements[row.requirements].size()), 4);
    record_.number(offsetof(S, image_count), int64_t(row.images.size()), 4);
    record_.pointer(offsetof(S, specialized), places.specialized);
    record_.number(offsetof(S, specialized_count), int64_t(row.specialized.size()), 4);
    record_.number(offsetof(S, constant_count), int64_t(tables_.constants[row.constants].size()),
                   4);
    record_.pointer(offsetof(S, constants), constants_[row.constants]);
    record_.end(sizeof(S));
  }

  Label tunings(const KernelTable &table) {
    using S = abi::tuning;
    std::vector<Label> names;
    for (const TuningTable &row : table.tunings) {
      names.push_back(begin(8));
      for (const std::string &name : row.schedule_names) {
        record_.pointer(0, strings_[name]);
        record_.end(8);
      }
    }
    Label first = table.tunings.empty() ? nullptr : begin(8);
    for (size_t i = 0; i < table.tunings.size(); i++) {
      const TuningTable &row = table.tunings[i];
      const TuningNumbers &numbers = tuning_numbers_[tuning_count_++];
      record_.pointer(offsetof(S, gpu), strings_[row.gpu]);
      record_.number(offsetof(S, sm), row.arch, 4);
      record_.number(offsetof(S, num_sms), row.num_sms, 4);
      record_.pointer(offsetof(S, axes), numbers.axes);
      record_.pointer(offsetof(S, problems), numbers.problems);
      record_.pointer(offsetof(S, times), numbers.times);
      record_.pointer(offsetof(S, costs), row.costs.empty() ? nullptr : numbers.costs);
      record_.pointer(offsetof(S, schedules), numbers.schedules);
      record_.pointer(offsetof(S, schedule_names), names[i]);
      record_.number(offsetof(S, axis_count), int64_t(row.axes.size()), 4);
      record_.number(offsetof(S, problem_count), int64_t(row.problem_count), 4);
      record_.number(offsetof(S, schedule_name_count), int64_t(row.schedule_names.size()), 4);
      record_.number(offsetof(S, beside_costs), row.beside_costs, 4);
      record_.end(sizeof(S));
    }
    return first;
  }

  Label images_of(const VariantRow &row) {
    Label images = row.images.empty() ? nullptr : begin(8);
    for (const ImageRow &image_row : row.images)
      image(image_row);
    return images;
  }

  void infos_of(const VariantRow &row) {
    for (const ImageRow &image_row : row.images)
      info(*image_row.image, row.variant->plan.specialization);
  }

  /// Writes all data that a variant refers to, including its specializations.
  Places parts_of(const VariantRow &row) {
    Places places;
    places.images = images_of(row);
    std::vector<Places> of_specialized;
    for (const VariantRow &specialized : row.specialized)
      of_specialized.push_back({.images = images_of(specialized)});
    if (places.images)
      places.infos = begin(8);
    infos_of(row);
    size_t next = row.images.size();
    for (size_t i = 0; i < row.specialized.size(); i++) {
      of_specialized[i].infos = of_specialized[i].images ? places.infos : nullptr;
      of_specialized[i].first_info = next;
      infos_of(row.specialized[i]);
      next += row.specialized[i].images.size();
    }
    if (!row.specialized.empty())
      places.specialized = begin(8);
    for (size_t i = 0; i < row.specialized.size(); i++)
      variant(row.specialized[i], of_specialized[i]);
    return places;
  }

  void kernel(const KernelTable &table, Label choices) {
    std::vector<Places> places;
    for (const VariantRow &row : table.variants)
      places.push_back(parts_of(row));
    Label variants = begin(8);
    for (size_t i = 0; i < table.variants.size(); i++)
      variant(table.variants[i], places[i]);
    Label measured = tunings(table);

    using S = abi::kernel;
    visible_symbol(table.instantiation->symbol, sizeof(S));
    record_.number(offsetof(S, version), abi::abi_version, 4);
    record_.number(offsetof(S, parameter_count), int64_t(table.instantiation->members.size()), 4);
    record_.pointer(offsetof(S, name), strings_[table.instantiation->display]);
    record_.pointer(offsetof(S, gpus), strings_[table.gpus]);
    record_.pointer(offsetof(S, variants), variants);
    record_.pointer(offsetof(S, choices), choices);
    record_.number(offsetof(S, variant_count), int64_t(table.variants.size()), 4);
    record_.number(offsetof(S, axis_count), int64_t(table.axis_count), 4);
    record_.number(offsetof(S, argument_bytes), table.argument_bytes, 4);
    record_.number(offsetof(S, tuning_count), int64_t(table.tunings.size()), 4);
    record_.pointer(offsetof(S, tunings), measured);
    record_.pointer(offsetof(S, states), states_);
    record_.number(offsetof(S, checksum), 0, sizeof(S::checksum)); // seal_object writes it
    record_.end(sizeof(S));
  }

  // ---- sections and symbols ----

  void open(const char *name, unsigned type, unsigned flags) {
    streamer_.switchSection(context_.getELFSection(name, type, flags));
  }

  Label begin(unsigned alignment) {
    streamer_.emitValueToAlignment(llvm::Align(alignment));
    Label label = context_.createTempSymbol();
    streamer_.emitLabel(label);
    return label;
  }

  void visible_symbol(const std::string &name, size_t size) {
    streamer_.emitValueToAlignment(llvm::Align(8));
    Label symbol = context_.getOrCreateSymbol(name);
    streamer_.emitSymbolAttribute(symbol, llvm::MCSA_Global);
    streamer_.emitSymbolAttribute(symbol, llvm::MCSA_Hidden);
    streamer_.emitSymbolAttribute(symbol, llvm::MCSA_ELF_TypeObject);
    streamer_.emitELFSize(symbol, llvm::MCConstantExpr::create(int64_t(size), context_));
    streamer_.emitLabel(symbol);
  }

  const Tables &tables_;
  const Bundle *bundle_; // null = the images are in the object
  llvm::MCContext &context_;
  llvm::MCStreamer &streamer_;
  Record record_;

  std::vector<Label> images_, code_, choices_, parameters_, constants_, requirements_, maps_,
      hidden_, launches_;
  std::map<std::string, Label> strings_; // ordered: equal inputs give equal bytes
  struct TuningNumbers {
    Label axes, problems, times, costs, schedules;
  };
  std::vector<TuningNumbers> tuning_numbers_; // for all kernels
  size_t tuning_count_ = 0;                   // tunings written so far
  Label states_ = nullptr, bundle_record_ = nullptr;
};

} // namespace

Result<std::string> object_file(const Tables &tables, const std::string &triple,
                                const Bundle *bundle) {
  llvm::Triple target(
      llvm::Triple::normalize(triple.empty() ? llvm::sys::getDefaultTargetTriple() : triple));
  ObjectStream stream;
  if (std::string reason = stream.open(target); !reason.empty())
    return Error{Message::no_host_object, {target.str(), reason}};
  ObjectWriter(tables, bundle, stream).write();
  std::string object = stream.finish();
  seal_object(object);
  return object;
}

} // namespace tritonc
