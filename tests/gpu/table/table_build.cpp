// table_build OUT [EVERY]: writes the kernels of the table test, for all or every EVERY-th case.
//
// Writes OUT/table_0.tc and so on, each with one kernel of up to 64 cases, and OUT/table_list.h,
// the list of kernels. See cases.h.

#include "cases.h"
#include "slots.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using namespace table;

std::vector<TypeInfo> all_infos() {
  std::vector<TypeInfo> all;
  for (int t = 0; t < type_count; t++)
    all.push_back(info(Type(t)));
  return all;
}

std::string source_of(int number, const std::vector<Case> &cases, const Slots &slots) {
  std::string text = "// Made by table_build.\n";
  for (const TypeInfo &type : all_infos()) { // for the cases of function calls
    std::string t = type.name;
    text += t + "[64] same_" + t + "(" + t + " x[64], " + t +
            " y[64], bool m[64]) {\n  return m ? x : y;\n}\n";
  }
  text += "#pragma tritonc grid(" + std::to_string(programs) + ")\n__global__ void table_" +
          std::to_string(number) + "(";
  for (const char *what : {"const ", ""})
    for (int t = 0; t < type_count; t++) {
      std::string name = info(Type(t)).name;
      bool is_first = *what && t == 0;
      text += (is_first ? "" : ",\n    ") + std::string(what) + name + " *" +
              (*what ? "in_" : "out_") + name;
    }
  text += ") {\n  int i[64] = 0 ... 64, r[8] = 0 ... 8;\n"
          "  int program = get_program_id(0), base = program * 64;\n";
  for (size_t c = 0; c < cases.size(); c++) {
    std::string body = cases[c].body;
    std::string out = "out_" + std::string(info(cases[c].result).name) + " + " +
                      std::to_string(slots.first[c]) + " + program * " +
                      std::to_string(cases[c].results);
    for (size_t at; (at = body.find("OUT")) != body.npos;)
      body.replace(at, 3, out);
    text += "  { // " + cases[c].name + "\n" + body + "  }\n";
  }
  return text + "}\n";
}

} // namespace

int main(int count, char **arguments) {
  if (count < 2)
    return 2;
  std::string folder = arguments[1];
  int every = count > 2 ? std::atoi(arguments[2]) : 1, kernels = 0;
  std::vector<std::vector<Case>> batches = batches_of(every);
  std::string list = "// Made by table_build.\n#define TABLE_EVERY " + std::to_string(every) +
                     "\n#define TABLE_KERNELS(X)";
  for (const std::vector<Case> &batch : batches) {
    std::ofstream(folder + "/table_" + std::to_string(kernels) + ".tc")
        << source_of(kernels, batch, slots_of(batch));
    list += " X(" + std::to_string(kernels++) + ")";
  }
  std::ofstream stream(folder + "/table_list.h");
  stream << list << "\n";
  return stream.good() ? 0 : 1;
}
