// Implements the limits on compiled kernels. See limits.h.
//
// Tested by tests/unit/jobs/limits_test.cpp.

#include "jobs/limits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <set>
#include <string_view>

namespace tritonc {
namespace {

// A quantity with a limit, named as in ptxas and in the report, and the remedy for too much of it.
struct Quantity {
  llvm::StringRef name, unit;
  long long (*of)(const Image &image);
  const char *remedy;
};

constexpr const char *smaller_tiles = "use smaller tiles, or exclude variants with --where";

const Quantity quantities[] = {
    {"spills", "bytes", [](const Image &i) { return (long long)i.spill_stores + i.spill_loads; },
     smaller_tiles},
    {"regs", "registers per thread", [](const Image &i) { return (long long)i.registers; },
     smaller_tiles},
    {"shared", "bytes per block",
     [](const Image &i) { return (long long)i.shared_bytes + i.static_shared; }, smaller_tiles},
    {"stack", "bytes per thread", [](const Image &i) { return (long long)i.stack_bytes; },
     smaller_tiles},
    {"threads", "threads per block", [](const Image &i) { return (long long)i.threads; },
     "change the tile, or exclude variants with --where"},
    {"cubin", "bytes", [](const Image &i) { return (long long)i.cubin_bytes; },
     "exclude variants with --where"},
    {"embedded", "bytes", [](const Image &i) { return (long long)i.bytes.size(); },
     "use --compress size, or exclude variants with --where"},
};

constexpr llvm::StringRef comparisons[] = {"==", "!=", "<=", ">=", "<", ">"};

// A quantity of the whole library: the bytes of all distinct images.
constexpr llvm::StringRef total = "total";

long long total_bytes(const Library &library) {
  std::set<std::string_view> images;
  long long bytes = 0;
  for (const KernelEntry &kernel : library.kernels)
    for (const Variant &variant : kernel.variants)
      for (const Image &image : variant.images)
        if (images.insert(image.bytes).second)
          bytes += (long long)image.bytes.size();
  return bytes;
}

const Quantity *find_quantity(llvm::StringRef name) {
  auto found = llvm::find_if(quantities, [&](const Quantity &one) { return one.name == name; });
  return found == std::end(quantities) ? nullptr : &*found;
}

bool holds(long long left, llvm::StringRef comparison, long long right) {
  if (comparison == "==")
    return left == right;
  if (comparison == "!=")
    return left != right;
  if (comparison == "<=")
    return left <= right;
  if (comparison == ">=")
    return left >= right;
  return comparison == "<" ? left < right : left > right;
}

} // namespace

Result<Limit> parse_limit(const std::string &text) {
  Limit limit = {text, "", "", 0};
  llvm::StringRef rest = llvm::StringRef(text).trim();
  limit.quantity = rest.take_while([](char c) { return llvm::isAlpha(c); }).str();
  rest = rest.drop_front(limit.quantity.size()).ltrim();
  for (llvm::StringRef comparison : comparisons)
    if (limit.comparison.empty() && rest.consume_front(comparison))
      limit.comparison = comparison.str();
  rest = rest.ltrim();
  bool in_units = rest.consume_back("k");
  bool is_known = find_quantity(limit.quantity) || limit.quantity == total;
  if (!is_known || limit.comparison.empty() || rest.getAsInteger(10, limit.number) ||
      limit.number < 0 || limit.number > (1ll << 40)) {
    std::vector<std::string> names;
    for (const Quantity &one : quantities)
      names.push_back(one.name.str());
    names.push_back(total.str());
    return Error{Message::requirement_syntax, {text, llvm::join(names, ", ")}};
  }
  if (in_units)
    limit.number *= 1024;
  return limit;
}

std::vector<Error> unmet(const Library &library, const std::vector<Limit> &limits) {
  std::vector<Error> failures;
  for (const Limit &limit : limits) {
    long long bytes = limit.quantity == total ? total_bytes(library) : 0;
    if (limit.quantity == total && !holds(bytes, limit.comparison, limit.number))
      failures.push_back(
          {Message::requirement_unmet,
           {"library `" + library.name + "`",
            "total is " + std::to_string(bytes) + " (bytes of all images)", limit.text,
            "use --compress size, or exclude variants with --where or --kernels"}});
  }
  for (const KernelEntry &kernel : library.kernels)
    for (const Variant &variant : kernel.variants)
      for (const Image &image : variant.images)
        for (const Limit &limit : limits) {
          if (image.is_ptx() && limit.quantity == "cubin")
            continue; // PTX text is larger than a cubin, so the limit does not apply
          if (limit.quantity == total)
            continue;
          const Quantity &quantity = *find_quantity(limit.quantity);
          long long measured = quantity.of(image);
          if (holds(measured, limit.comparison, limit.number))
            continue;
          std::string name = "`" + kernel.name + "` for " + image.gpu;
          if (!image.launch.schedule.is_baseline())
            name += ", schedule " + text_of(image.launch.schedule);
          if (std::string values =
                  variant_name(variant.values.text(kernel.axes), variant.plan.specialization);
              !values.empty())
            name += ", " + values;
          failures.push_back({Message::requirement_unmet,
                              {name,
                               limit.quantity + " is " + std::to_string(measured) + " (" +
                                   quantity.unit.str() + ")",
                               limit.text, quantity.remedy}});
        }
  return failures;
}

} // namespace tritonc
