// Writes the HTML page of tritonc report. See html_report.h.
//
// All text from a source goes through `escaped`, so that the value of a macro cannot become a tag.
//
// Tested by tests/unit/emit/html_report_test.cpp.

#include "emit/report/html_report.h"

#include "emit/expression.h"
#include "emit/report/plots.h"
#include "emit/report/svg.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

namespace tritonc {

namespace {

constexpr const char *style = R"(
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --bad: #c33; }
body { font: 14px/1.5 system-ui, sans-serif; max-width: 90rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.5rem; } h3 { margin-top: 1.5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td.text, th.text { text-align: left; }
tr.variant > * { border-top: 2px solid var(--line); }
td.long { white-space: normal; max-width: 20rem; }
td.bad { color: var(--bad); font-weight: 600; }
.bar { display: flex; height: 1rem; min-width: 12rem; border-radius: 3px; overflow: hidden; background: var(--soft); }
.bar span { display: block; }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .5rem 0; }
.key i { display: inline-block; width: .9rem; height: .9rem; border-radius: 2px; margin-right: .35rem; vertical-align: -2px; }
details { margin: .3rem 0; } summary { cursor: pointer; }
pre { overflow-x: auto; background: var(--soft); padding: .6rem; border-radius: 4px; white-space: pre-wrap; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(37rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; overflow-x: auto; } figcaption { margin-bottom: .3rem; }
svg.layout text { font: 9px system-ui, sans-serif; text-anchor: middle; fill: currentColor; }
svg.curves text { font: 11px system-ui, sans-serif; text-anchor: end; dominant-baseline: middle; fill: currentColor; }
svg.curves line { stroke: var(--line); } svg.curves { max-width: 100%; }
svg.layout g text { fill: #000; } svg.layout rect { stroke: #0003; stroke-width: .5; }
)";

std::string number(int64_t value) { return std::to_string(value); }

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string cell(const std::string &text, const char *kind = "") {
  std::string attribute = *kind ? std::string(" class=\"") + kind + "\"" : "";
  return "<td" + attribute + ">" + escaped(text) + "</td>";
}

// --- Instructions --------------------------------------------------------------------------------

// The purpose of an instruction, by the prefix of its name.
struct Purpose {
  const char *name, *color;
  std::vector<std::string> beginnings;
};

const std::vector<Purpose> &purposes() {
  static const std::vector<Purpose> all = {
      {"tensor cores", "#2a9d8f", {"HMMA", "IMMA", "DMMA", "HGMMA", "IGMMA", "QGMMA"}},
      {"arithmetic", "#e9c46a", {"FMUL", "FADD", "FFMA", "DADD", "DFMA", "HFMA2"}},
      {"global memory", "#e76f51", {"LDG", "STG"}},
      {"shared memory", "#457b9d", {"LDS", "STS"}},
      {"spilled registers", "#c1121f", {"LDL", "STL"}},
      {"waiting", "#9d6bce", {"BAR", "DEPBAR"}},
      {"everything else", "#8888", {""}},
  };
  return all;
}

// The first purpose with a matching prefix. The order matters: LDGDEPBAR and LDGSTS also match LDG.
size_t purpose_of(const std::string &instruction) {
  size_t purpose = 0;
  auto fits = [&](const std::string &beginning) { return instruction.rfind(beginning, 0) == 0; };
  while (std::none_of(purposes()[purpose].beginnings.begin(), purposes()[purpose].beginnings.end(),
                      fits))
    purpose++;
  return purpose;
}

std::string mix_of(const std::map<std::string, int> &instructions) {
  std::vector<int> counts(purposes().size(), 0);
  int all = 0;
  for (const auto &[name, count] : instructions) {
    counts[purpose_of(name)] += count;
    all += count;
  }
  std::string bar = "<div class=\"bar\" title=\"" + number(all) + " instructions\">";
  for (size_t i = 0; i < counts.size(); i++)
    if (counts[i])
      bar += "<span style=\"width:" + decimal(100.0 * counts[i] / all) +
             "%;background:" + purposes()[i].color + "\" title=\"" + purposes()[i].name + ": " +
             number(counts[i]) + "\"></span>";
  return bar + "</div>";
}

std::string key_of_mix() {
  std::string key = "<div class=\"key\">";
  for (const Purpose &purpose : purposes())
    key += std::string("<span><i style=\"background:") + purpose.color + "\"></i>" + purpose.name +
           "</span>";
  return key + "</div>\n";
}

// --- Layouts -------------------------------------------------------------------------------------

// The layouts of the whole page. Each layout is drawn once.
class Pictures {
public:
  /// A link to the picture of `place`.
  std::string link(const ImageDetails::Place &place) {
    std::string what = place.layout.text() + number(place.element_bytes * place.layout.is_shared());
    for (int64_t extent : place.layout.shape)
      what += "," + number(extent);
    auto [found, is_new] = numbers_.emplace(what, numbers_.size() + 1);
    std::string name = "layout-" + number(int64_t(found->second));
    if (is_new)
      figures_ += figure(place, name);
    return "<a href=\"#" + name + "\">" + escaped(place.operation + " : " + place.type) + "</a>";
  }

  std::string section() const {
    if (figures_.empty())
      return "";
    return "<h2>Layouts</h2>\n<p>The upper left corner of each tile. In registers a color is a "
           "lane and the number in it too, darker to brighter is from warp to warp; in shared "
           "memory a color is a bank, and the number the first bank of 16 bytes. Point at a field "
           "for more.</p>\n<div class=\"pictures\">\n" +
           figures_ + "</div>\n";
  }

private:
  static std::string figure(const ImageDetails::Place &place, const std::string &name) {
    return "<figure id=\"" + name + "\"><figcaption><b>" + escaped(place.type) + "</b> " +
           (place.layout.is_shared() ? "in shared memory" : "in registers") + "<br><code>" +
           escaped(place.layout.text()) + "</code></figcaption>\n" +
           (place.layout.is_shared() ? picture_of_banks(place.layout, place.element_bytes)
                                     : picture_of_threads(place.layout)) +
           "</figure>\n";
  }

  std::map<std::string, size_t> numbers_;
  std::string figures_;
};

std::string in_line(int line) { return line ? ", line " + number(line) : ""; }

// --- One image -----------------------------------------------------------------------------------

std::string details_of(const Image &image, const Variant &variant, Pictures &pictures) {
  const ImageDetails &details = *image.details;
  std::string text;
  if (image.launch.cost)
    text += "<details><summary>nanoseconds, as the launch estimates them</summary><pre>" +
            escaped(text_of(*image.launch.cost, variant.parameters)) + "</pre></details>\n";
  text += "<p>Instructions: ";
  for (const auto &[name, count] : details.instructions)
    text += escaped(name) + " " + number(count) + " &ensp;";
  text += "</p>\n";
  if (!details.accesses.empty()) {
    text += "<table><tr><th class=\"text\">shared memory</th><th>at once</th><th>bank "
            "conflicts</th></tr>\n";
    for (const ImageDetails::Access &access : details.accesses)
      text +=
          "<tr>" + cell(access.operation + " " + access.type + in_line(access.line), "text") +
          cell((access.by_matrix ? "matrices, rows of " : "") + number(access.bytes) + " bytes") +
          (access.conflicts > 1 ? cell(decimal(access.conflicts) + " times as long", "bad")
                                : cell("none")) +
          "</tr>\n";
    text += "</table>\n";
  }
  text += "<p>Layouts: ";
  for (const ImageDetails::Place &place : details.places)
    text += pictures.link(place) + escaped(in_line(place.line)) + " &ensp;";
  return text + "</p>\n";
}

std::string row_of(const std::string &variant, const Image &image) {
  std::string schedule = text_of(image.launch.schedule);
  int spilled = image.spill_stores + image.spill_loads;
  std::string gpu = image.gpu;
  if (image.is_ptx())
    gpu += " (PTX; as on sm_" + number(image.sm) + ")";
  std::string row = "<tr" + std::string(variant.empty() ? "" : " class=\"variant\"") + ">" +
                    cell(variant, "text long") + cell(gpu, "text") + cell(schedule, "text long") +
                    cell(number(image.threads)) + cell(number(image.registers)) +
                    cell(number(image.shared_bytes + image.static_shared)) +
                    cell(number(spilled), spilled ? "bad" : "");
  if (!image.details)
    return row + "<td></td><td></td></tr>\n";
  const ImageDetails::Occupancy &occupancy = image.details->occupancy;
  return row + cell(number(occupancy.blocks) + ", by " + occupancy.limit, "text") + "<td>" +
         mix_of(image.details->instructions) + "</td></tr>\n";
}

std::string section_of(const KernelEntry &kernel, Pictures &pictures) {
  std::string text =
      "<h2>" + escaped(kernel.name) +
      "</h2>\n<table>\n<tr><th class=\"text\">variant</th><th class=\"text\">GPU</th><th "
      "class=\"text\">schedule</th><th>threads</th><th>registers</th><th>shared "
      "bytes</th><th>spilled"
      "</th><th class=\"text\">blocks at once, limited by</th><th class=\"text\">instructions"
      "</th></tr>\n";
  std::string details;
  std::set<std::string> drawn; // code that several variants share is drawn once
  for (const Variant &variant : kernel.variants) {
    std::string name = variant_name(variant.values.text(kernel.axes), variant.plan.specialization);
    for (const Image &image : variant.images) {
      bool is_first = &image == &variant.images.front();
      text += row_of(is_first ? (name.empty() ? kernel.name : name) : "", image);
      if (!image.details || !drawn.insert(image.gpu + image.bytes).second)
        continue;
      details += "<details><summary>" +
                 escaped(name + " " + image.gpu + " " + text_of(image.launch.schedule)) +
                 "</summary>\n" + details_of(image, variant, pictures) + "</details>\n";
    }
  }
  text += "</table>\n" + key_of_mix() + section_of_measurements(kernel);
  return details.empty() ? text : text + "<h3>Code</h3>\n" + details;
}

// --- Decisions -----------------------------------------------------------------------------------

// Input: a heading line per kernel, variant and GPU, then indented lines about it. Equal texts of
// several headings appear once.
std::string section_of_decisions(const std::string &explanation) {
  std::vector<std::pair<std::string, std::vector<std::string>>> said; // text, headings
  std::string heading, body;
  auto close = [&] {
    if (heading.empty())
      return;
    auto same = std::find_if(said.begin(), said.end(),
                             [&](const auto &other) { return other.first == body; });
    if (same == said.end())
      same = said.insert(said.end(), {body, {}});
    same->second.push_back(heading);
  };
  for (size_t at = 0; at < explanation.size();) {
    size_t end = std::min(explanation.find('\n', at), explanation.size());
    std::string line = explanation.substr(at, end - at);
    at = end + 1;
    if (line.rfind("  ", 0) == 0) {
      size_t begin = line.rfind("  note: ", 0) == 0 ? std::string("  note: ").size() : 2;
      body += line.substr(begin) + "\n";
      continue;
    }
    close();
    heading = line;
    body.clear();
  }
  close();
  if (said.empty())
    return "";
  std::string text = "<h2>Decisions</h2>\n";
  for (const auto &[what, whom] : said) {
    text += "<details" + std::string(said.size() == 1 ? " open" : "") + "><summary>" +
            escaped(whom.front()) +
            (whom.size() > 1 ? " and " + number(int64_t(whom.size()) - 1) + " more" : "") +
            "</summary>\n<pre>" + escaped(what) + "</pre>\n";
    if (whom.size() > 1) {
      text += "<pre>";
      for (const std::string &one : whom)
        text += escaped(one) + "\n";
      text += "</pre>\n";
    }
    text += "</details>\n";
  }
  return text;
}

} // namespace

std::string report_page(const Library &library, const std::string &explanation) {
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
                     escaped(library.name) + "</title>\n<style>" + style +
                     "</style>\n</head>\n<body>\n<h1>" + escaped(library.name) + "</h1>\n<p>" +
                     escaped(library.source_file) + ", compiled by " + escaped(library.tool) +
                     "</p>\n";
  Pictures pictures;
  for (const KernelEntry &kernel : library.kernels)
    text += section_of(kernel, pictures);
  text += section_of_decisions(explanation);
  return text + pictures.section() + "</body>\n</html>\n";
}

} // namespace tritonc
