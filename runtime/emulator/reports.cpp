// Writes the texts of reports and adds them to the launch. See reports.h.
//
// Tested by tests/unit/emulator/reports_of_errors_test.cpp.

#include "reports.h"

#include "launch_state.h"
#include "machine.h"
#include "record.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace tritonc::emulator {

Text &Text::add(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int wanted = std::vsnprintf(text_ + length_, sizeof text_ - length_, format, arguments);
  va_end(arguments);
  if (wanted > 0)
    length_ = std::min(length_ + size_t(wanted), sizeof text_ - 1);
  return *this;
}

// ---- texts ----

namespace {

std::string place_of(const Site &site, const LaunchState &launch) {
  if (site.line == 0)
    return launch.code.name;
  return std::string(site.file) + ":" + std::to_string(site.line) + ":" +
         std::to_string(site.column);
}

std::string formatted(const char *format, va_list arguments) {
  char text[2000];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

std::string program_text(const Dim3 &id) {
  return "program (" + std::to_string(id.x) + ", " + std::to_string(id.y) + ", " +
         std::to_string(id.z) + ")";
}

// Adds the location and, at the end, `who` to the first line; adds the location to notes.
std::string full_text(const LaunchState &launch, const Site &site, const std::string &who,
                      const std::string &message) {
  std::string place = place_of(site, launch);
  size_t first_end = std::min(message.find('\n'), message.size());
  std::string text = place + ": error: " + message.substr(0, first_end) + " [kernel " +
                     launch.code.name + ", " + who + "]";
  for (size_t begin = first_end; begin < message.size();) {
    size_t end = std::min(message.find('\n', begin + 1), message.size());
    std::string line = message.substr(begin + 1, end - begin - 1);
    text += "\n" + (line.starts_with("note: ") ? place + ": " + line : line);
    begin = end;
  }
  return text;
}

void add(Thread &thread, const Site &site, const Site &other, Report::Kind kind, bool ends,
         std::string text) {
  Cluster &cluster = *thread.cluster;
  LaunchState &launch = *cluster.launch;
  Report report;
  report.kind = kind;
  report.site = site;
  report.other_site = &other == &site ? record::unknown_site : other;
  report.program = thread.block->id;
  report.thread = thread.id;
  report.text = std::move(text);
  launch.add(cluster.index, &site, &other, ends, std::move(report));
}

std::string text_by(Thread &thread, const Site &site, const std::string &message) {
  std::string who = program_text(thread.block->id) + ", thread " + std::to_string(thread.id);
  return full_text(*thread.cluster->launch, site, who, message);
}

} // namespace

// ---- reporting ----

// `fatal` ends by leaving its fiber forever. So the objects that own memory live in the helpers
// below, which have returned by then.

static void add_fatal(Thread &thread, const Site &site, const Site &other, Report::Kind kind,
                      const char *note, const char *format, va_list arguments) {
  std::string text = text_by(thread, site, formatted(format, arguments));
  if (note)
    text += "\n" + place_of(other, *thread.cluster->launch) + ": note: " + note;
  add(thread, site, other, kind, true, std::move(text));
}

void fatal(Thread &thread, const Site &site, Report::Kind kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_fatal(thread, site, site, kind, nullptr, format, arguments);
  va_end(arguments);
  thread.cluster->scheduler.leave();
}

void fatal_beside(Thread &thread, const Site &site, const Site &other, Report::Kind kind,
                  const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_fatal(thread, site, other, kind, "the other operation is here", format, arguments);
  va_end(arguments);
  thread.cluster->scheduler.leave();
}

bool is_reported(const Thread &thread, const Site &site, const Site &other, Report::Kind kind) {
  const auto &reported = thread.cluster->reported;
  return std::find(reported.begin(), reported.end(), Reported{&site, &other, kind}) !=
         reported.end();
}

void report(Thread &thread, const Site &site, Report::Kind kind, const char *format, ...) {
  if (is_reported(thread, site, site, kind))
    return;
  thread.cluster->reported.push_back({&site, &site, kind});
  va_list arguments;
  va_start(arguments, format);
  add(thread, site, site, kind, false, text_by(thread, site, formatted(format, arguments)));
  va_end(arguments);
}

void report_race(Thread &thread, const Site &site, const Site &other, const char *how,
                 const char *format, ...) {
  if (is_reported(thread, site, other, Report::Kind::race))
    return;
  thread.cluster->reported.push_back({&site, &other, Report::Kind::race});
  va_list arguments;
  va_start(arguments, format);
  std::string text = text_by(thread, site, formatted(format, arguments));
  va_end(arguments);
  text += "\n" + place_of(other, *thread.cluster->launch) + ": note: the other access: " + how;
  add(thread, site, other, Report::Kind::race, false, std::move(text));
}

// ---- descriptions ----

Text bytes_text(size_t bytes) {
  Text text;
  text.add("%zu %s", bytes, bytes == 1 ? "byte" : "bytes");
  return text;
}

Text shared_place(const Thread &thread, uint32_t address) {
  const Cluster &cluster = *thread.cluster;
  Text text;
  uint32_t window = thread.shared_base;
  bool is_other = address - window >= window_bytes && cluster.shared.contains(address);
  if (is_other)
    window = cluster.shared.base(cluster.shared.rank(address));
  int64_t offset = int64_t(address) - window;
  if (offset < -int64_t(window_bytes) || offset >= window_bytes) {
    text.add("shared address 0x%x, outside of shared memory", address);
    return text;
  }
  text.add("offset %lld of shared memory", static_cast<long long>(offset));
  const abi::host_code &code = cluster.launch->code;
  for (uint32_t i = 0; i < code.buffer_count; i++) {
    const abi::host_buffer &buffer = code.buffers[i];
    if (offset >= buffer.offset && offset < int64_t(buffer.offset) + buffer.bytes) {
      text.add(" (byte %lld of `%s`)", static_cast<long long>(offset - buffer.offset), buffer.name);
      break;
    }
  }
  if (is_other)
    text.add(" of block %u of the cluster", cluster.shared.rank(address));
  return text;
}

Text global_place(const Thread &thread, const void *address) {
  const Cluster &cluster = *thread.cluster;
  const LaunchState &launch = *cluster.launch;
  const abi::host_code &code = launch.code;
  auto *where = static_cast<const std::byte *>(address);

  // The parameter that points into the same allocation, or nearest to it.
  struct Candidate {
    const char *name = nullptr;
    const std::byte *value = nullptr;
    GlobalMemory::Allocation allocation{};
    uint64_t distance = uint64_t(1) << 33; // bytes; parameters farther away are ignored
  } best;
  for (uint32_t i = 0; i < code.parameter_count; i++) {
    if (!code.parameters[i].is_pointer)
      continue;
    Candidate candidate;
    candidate.name = code.parameters[i].name;
    std::memcpy(&candidate.value, launch.launch.arguments[i], sizeof candidate.value);
    auto allocation = launch.memory.find(candidate.value);
    if (!allocation)
      continue;
    candidate.allocation = *allocation;
    const std::byte *begin = allocation->begin, *end = begin + allocation->bytes;
    candidate.distance = where < begin  ? uint64_t(begin - where)
                         : where >= end ? uint64_t(where - end) + 1
                                        : 0;
    bool is_better = candidate.distance < best.distance ||
                     (candidate.distance == 0 && best.distance == 0 && candidate.value <= where &&
                      candidate.value > best.value);
    if (is_better)
      best = candidate;
  }

  Text text;
  if (best.name) {
    auto offset = static_cast<long long>(where - best.value);
    if (offset < 0)
      text.add("%s before `%s`", bytes_text(size_t(-offset)).c_str(), best.name);
    else
      text.add("byte %lld of `%s`", offset, best.name);
    if (best.allocation.freed)
      text.add(", whose memory was freed");
    else if (best.value != best.allocation.begin)
      text.add(", which begins at byte %lld of %zu allocated bytes",
               static_cast<long long>(best.value - best.allocation.begin), best.allocation.bytes);
    else if (best.distance != 0)
      text.add(", which has %s", bytes_text(best.allocation.bytes).c_str());
    return text;
  }
  if (auto allocation = launch.memory.find(address)) {
    text.add("byte %lld of %zu %s bytes that no parameter points to",
             static_cast<long long>(where - allocation->begin), allocation->bytes,
             allocation->freed ? "freed" : "allocated");
    return text;
  }
  auto number = reinterpret_cast<uintptr_t>(address);
  text.add("address 0x%llx", static_cast<unsigned long long>(number));
  if (number < 4096)
    text.add(", a null pointer");
  else if (cluster.shared.contains(number))
    text.add(", which is in shared memory");
  else
    text.add(", which is not GPU memory");
  return text;
}

Text actor_name(const Cluster &cluster, unsigned actor) {
  Text text;
  unsigned per_block = cluster.threads_per_block(), threads = cluster.clocks.threads(), block = 0;
  if (actor < threads) {
    text.add("thread %u", actor % per_block);
    block = actor / per_block;
  } else if (actor < threads + async_agents) {
    text.add("TMA");
    return text;
  } else {
    unsigned warp = actor - threads - async_agents, warps = per_block / warp_size;
    text.add("the tensor core of warp %u", warp % warps);
    block = warp / warps;
  }
  if (cluster.blocks.size() > 1)
    text.add(" of block %u", block);
  return text;
}

// ---- deadlocks ----

namespace {

// Threads of one block that wait for the same event, or that have exited.
struct Group {
  const Block *block;
  const Site *site; // null = exited
  std::string what;
  std::vector<uint32_t> threads;
};

std::string numbers_text(const std::vector<uint32_t> &numbers) {
  std::string text;
  unsigned ranges = 0;
  for (size_t i = 0; i < numbers.size(); i++) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      last++;
    if (ranges++ == 6)
      return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i)
      text += "-" + std::to_string(numbers[last]);
    i = last;
  }
  return text;
}

std::string what_for(const Cluster &cluster, const Thread &thread) {
  const Waiting &waiting = thread.waiting;
  if (waiting.describe) {
    Text text;
    waiting.describe(thread, waiting, text);
    return text.c_str();
  }
  if (waiting.format) {
    char text[200];
    std::snprintf(text, sizeof text, waiting.format, waiting.first, waiting.second);
    return text;
  }
  const Rendezvous &meeting = waiting.first
                                  ? thread.block->warpgroups[thread.id / warpgroup_size].rendezvous
                                  : thread.warp->rendezvous;
  return std::string(operation_name(cluster, meeting.operation)) +
         " for the other threads of the " + (waiting.first ? "warpgroup" : "warp");
}

std::vector<Group> groups_of(const Cluster &cluster) {
  std::vector<Group> groups;
  for (const Thread &thread : cluster.threads) {
    bool exited = !(thread.warp->live >> thread.lane & 1);
    const Site *site = exited                ? nullptr
                       : thread.waiting.site ? thread.waiting.site
                                             : &record::unknown_site;
    std::string what = exited ? "" : what_for(cluster, thread);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group &g) {
      return g.block == thread.block && g.site == site && g.what == what;
    });
    if (group == groups.end())
      group = groups.insert(groups.end(), {thread.block, site, what, {}});
    group->threads.push_back(thread.id);
  }
  return groups;
}

void add_deadlock(Cluster &cluster) {
  std::vector<Group> groups = groups_of(cluster);
  auto first = std::find_if(groups.begin(), groups.end(), [](const Group &g) { return g.site; });
  const Site &site = *first->site;
  Thread &thread = first->block->threads[first->threads[0]];
  LaunchState &launch = *cluster.launch;
  std::string text =
      full_text(launch, site, program_text(thread.block->id), "deadlock: no thread can continue");
  constexpr size_t max_groups = 8;
  for (size_t i = 0; i < groups.size() && i < max_groups; i++) {
    const Group &group = groups[i];
    size_t n = group.threads.size();
    text += "\n" + place_of(group.site ? *group.site : site, launch) +
            ": note: " + std::to_string(n) + (n == 1 ? " thread (" : " threads (") +
            numbers_text(group.threads) + ")";
    if (cluster.blocks.size() > 1)
      text += " of block " + std::to_string(group.block->rank);
    if (group.site)
      text += (n == 1 ? " waits at " : " wait at ") + group.what;
    else
      text += n == 1 ? " has exited" : " have exited";
  }
  if (groups.size() > max_groups)
    text += "\n" + place_of(site, launch) + ": note: and " +
            std::to_string(groups.size() - max_groups) + " more groups";
  add(thread, site, site, Report::Kind::deadlock, true, std::move(text));
}

} // namespace

void Cluster::deadlock() {
  add_deadlock(*this);
  scheduler.leave();
}

} // namespace tritonc::emulator
