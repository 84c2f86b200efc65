// Tests emit/interface.cpp: the API of a library, and the symbols that header and object share.

#include "emit/interface.h"
#include "unit/emit/sample_library.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

using namespace tritonc;

namespace {

std::string failure_of(const Library &library) {
  Result<Interface> result = make_interface(library);
  return result ? "" : text(result.error());
}

std::vector<std::string> symbols_of(const Library &library) {
  Result<Interface> result = make_interface(library);
  REQUIRE(result);
  std::vector<std::string> out;
  for (const KernelInterface &kernel : result->kernels)
    for (const Instantiation &instantiation : kernel.instantiations)
      out.push_back(instantiation.symbol);
  return out;
}

Parameter scalar(const std::string &name, const std::string &element) {
  Parameter parameter;
  parameter.name = name;
  parameter.element = element;
  return parameter;
}

/// A library with one kernel, which has one variant with these parameters.
Library with_parameters(std::vector<Parameter> parameters) {
  Library library = sample_library();
  library.kernels.erase(library.kernels.begin());
  library.kernels[0].variants[0].parameters = std::move(parameters);
  return library;
}

void for_each_variant(Library &library, auto change) {
  for (KernelEntry &kernel : library.kernels)
    for (Variant &variant : kernel.variants)
      change(variant);
}

} // namespace

TEST_CASE("make_interface: maps axes to template parameters") {
  Library library = sample_library();
  library.kernels[0].axes.push_back({"STEP", false, {{"1", {}}, {"-2", {}}}});
  for (Variant &variant : library.kernels[0].variants)
    variant.values = {variant.values[0], variant.values[1], variant.values[2], 0};
  Result<Interface> interface = make_interface(library);
  REQUIRE(interface);
  const KernelInterface &dot = interface->kernels[0];
  REQUIRE(dot.api.size() == 3);
  CHECK(dot.api[0].type == "typename");
  CHECK(dot.api[0].parameter == "TYPE");
  CHECK(dot.api[0].values == std::vector<std::string>{"tritonc::half", "float"});
  CHECK(dot.api[1].type == "A");
  CHECK(dot.api[1].parameter == "A_"); // the kernel has a parameter A
  CHECK(dot.api[1].values == std::vector<std::string>{"A::N", "A::T"});
  CHECK(dot.api[2].type == "std::int32_t");
  CHECK(dot.api[2].values == std::vector<std::string>{"1", "-2"});
  REQUIRE(dot.tuned.size() == 1);
  CHECK(dot.tuned[0].member == "TM");
  CHECK(dot.tuned[0].values == std::vector<int32_t>{64, 32});
  CHECK(dot.instantiations.size() == 4);
  CHECK(dot.instantiations[1].display == "gemm::dot<half, T, 1>");
}

TEST_CASE("make_interface: sorts variants by preference") {
  Library library = sample_library();
  library.kernels[0].variants[0].preference = 5;
  Result<Interface> interface = make_interface(library);
  REQUIRE(interface);
  const Instantiation &first = interface->kernels[0].instantiations[0];
  CHECK(first.variants[0]->preference == 1);
  CHECK(first.variants[1]->preference == 5);
}

TEST_CASE("make_interface: arguments have the layout of a C struct") {
  Parameter pointer = scalar("p", "f16");
  pointer.is_pointer = true;
  Library library = with_parameters({scalar("flag", "i1"), scalar("h", "f16"), pointer,
                                     scalar("b", "i8"), scalar("n", "i64"), scalar("c", "i8")});
  Result<Interface> interface = make_interface(library);
  REQUIRE(interface);
  const Instantiation &only = interface->kernels[0].instantiations[0];
  std::vector<int> offsets;
  for (const Member &member : only.members)
    offsets.push_back(member.offset);
  CHECK(offsets == std::vector<int>{0, 2, 8, 16, 24, 32});
  CHECK(only.args_size == 40);
}

TEST_CASE("make_interface: typed setters for constant memory") {
  // "name element count; ..." for the kernel, then for each instantiation.
  auto setters = [](const std::function<std::vector<Constant>(size_t)> &constants_of) {
    Library library = sample_library();
    for (size_t i = 0; i < library.kernels[0].variants.size(); i++)
      library.kernels[0].variants[i].constants = constants_of(i);
    Result<Interface> interface = make_interface(library);
    REQUIRE(interface);
    const KernelInterface &kernel = interface->kernels[0];
    auto text = [](const std::vector<Setter> &all) {
      std::string out;
      for (const Setter &setter : all)
        out += setter.name + " " + setter.element + " " + std::to_string(setter.count) + "; ";
      return out;
    };
    std::string out = text(kernel.setters);
    for (const Instantiation &instantiation : kernel.instantiations)
      out += "| " + text(instantiation.setters);
    return out;
  };
  auto constant = [](const char *name, const char *element, int64_t count, int64_t bytes) {
    return Constant{.name = name, .element = element, .count = count, .bytes = bytes};
  };
  using Constants = std::vector<Constant>;
  CHECK(setters([](size_t) { return Constants(); }) == "| | | | ");
  CHECK(setters([&](size_t) { return Constants{constant("t", "f32", 4, 16)}; }) ==
        "set_t float 4; | set_t float 4; | set_t float 4; | set_t float 4; | set_t float 4; ");
  // A setter is untyped for char, and if element types differ except by the template argument.
  CHECK(setters([&](size_t) { return Constants{constant("t", "i8", 4, 4)}; }).find("set_t  4; ") ==
        0);
  CHECK(setters([&](size_t i) {
          return Constants{i % 2 ? constant("t", "f32", 4, 16) : constant("t", "i32", 3, 12)};
        }).find("set_t  16; ") == 0);
  CHECK(setters([&](size_t i) {
          return Constants{i < 4 ? constant("t", "f16", 8, 16) : constant("t", "f32", 6, 24)};
        }) == "set_t TYPE 8; | set_t tritonc::half 8; | set_t tritonc::half 8; "
              "| set_t float 6; | set_t float 6; ");
  // The count is the maximum over all variants. The order is that of the first occurrence.
  CHECK(setters([&](size_t i) {
          return i == 7 ? Constants{constant("u", "f64", 1, 8), constant("t", "i64", 9, 72)}
                        : Constants{constant("t", "i64", int64_t(i) + 1, 8 * int64_t(i) + 8)};
        }).find("set_t std::int64_t 9; set_u double 1; ") == 0);
}

TEST_CASE("make_interface: symbol identifies the API") {
  const std::vector<std::string> symbols = symbols_of(sample_library());
  CHECK(std::set<std::string>(symbols.begin(), symbols.end()).size() == symbols.size());
  CHECK(symbols[0].find("tritonc_gemm_dot_") == 0);
  CHECK(symbols_of(sample_library()) == symbols);

  auto after = [&](auto change) {
    Library library = sample_library();
    change(library);
    return symbols_of(library);
  };
  SUBCASE("code, facts and paths keep the symbol") {
    CHECK(symbols == after([](Library &library) {
            library.source_file = "elsewhere.tc";
            library.tool = "tritonc 9";
            for_each_variant(library, [](Variant &variant) {
              variant.entry = "other";
              variant.images[0].bytes += "changed";
              variant.images[0].registers++;
              variant.plan.requirements.clear();
            });
          }));
  }
  SUBCASE("swapped parameters change it") {
    CHECK(symbols[0] != after([](Library &library) {
            for_each_variant(library, [](Variant &variant) {
              std::swap(variant.parameters[2], variant.parameters[3]);
            });
          })[0]);
  }
  SUBCASE("const changes it") {
    CHECK(symbols[0] != after([](Library &library) {
            for_each_variant(library,
                             [](Variant &variant) { variant.parameters[0].read_only ^= true; });
          })[0]);
  }
  SUBCASE("tuned axis values change it") {
    CHECK(symbols[0] !=
          after([](Library &library) { library.kernels[0].axes[2].values[0].name = "128"; })[0]);
  }
  SUBCASE("constant memory changes it, but its size does not") {
    auto with = [&](const char *element, int64_t count) {
      return after([&](Library &library) {
        for_each_variant(library, [&](Variant &variant) {
          variant.constants = {{.name = "t", .element = element, .count = count}};
        });
      });
    };
    CHECK(symbols[0] != with("f32", 4)[0]);
    CHECK(with("i32", 4)[0] != with("f32", 4)[0]);
    CHECK(with("f32", 5) == with("f32", 4));
  }
  SUBCASE("a declared grid changes it") {
    CHECK(symbols[0] != after([](Library &library) {
            for_each_variant(library, [](Variant &variant) { variant.plan.grid.clear(); });
          })[0]);
  }
  SUBCASE("the library name changes it") {
    CHECK(symbols[0] != after([](Library &library) { library.name = "my::gemm"; })[0]);
  }
}

TEST_CASE("make_interface: changes invalid C++ names") {
  Library library =
      with_parameters({scalar("class", "i32"), scalar("args", "i32"), scalar("class_", "i32")});
  library.kernels[0].name = "launch";
  Result<Interface> interface = make_interface(library);
  REQUIRE(interface);
  const KernelInterface &kernel = interface->kernels[0];
  CHECK(kernel.name == "launch_");
  const std::vector<Member> &members = kernel.instantiations[0].members;
  CHECK(members[0].name == "class_");
  CHECK(members[1].name == "args_");
  CHECK(members[2].name == "class__");
}

TEST_CASE("make_interface: rejects name clashes") {
  SUBCASE("two kernels clash") {
    Library library = sample_library();
    library.kernels[1].name = "dot";
    CHECK(failure_of(library) ==
          "error: kernel `dot` and kernel `dot` would both be `gemm::dot` in "
          "the generated header; rename one of them");
  }
  SUBCASE("a kernel and an axis clash") {
    Library library = sample_library();
    library.kernels[1].name = "A";
    CHECK(failure_of(library).find("kernel `A` and axis `A` would both be `gemm::A`") !=
          std::string::npos);
  }
  SUBCASE("an axis and a helper of a kernel clash") {
    Library library = sample_library();
    library.kernels[0].axes[1].name = "scale_code";
    CHECK(failure_of(library).find("a helper of kernel `scale` and axis `scale_code`") !=
          std::string::npos);
  }
  SUBCASE("two values of an axis clash") {
    Library library = sample_library();
    library.kernels[0].axes[1].values[0].name = "3x";
    library.kernels[0].axes[1].values[1].name = "_3x";
    CHECK(failure_of(library).find("the values `3x` and `_3x`") != std::string::npos);
  }
}

TEST_CASE("make_interface: rejects parameters of a tuned axis") {
  Library library = sample_library();
  library.kernels[0].variants[1].parameters[4].name = "stride";
  CHECK(failure_of(library).find("the parameters of kernel `dot` depend on a tuned axis") !=
        std::string::npos);
}

TEST_CASE("make_interface: accepts only valid namespaces") {
  Library library = sample_library();
  for (const char *name : {"gemm", "my::gemm", "a::b::c", "_x"}) {
    library.name = name;
    CHECK(failure_of(library) == "");
  }
  for (const char *name :
       {"", "::a", "a::", "a:b", "a b", "class", "a::namespace", "std", "1a", "a\"", "tritonc"}) {
    CAPTURE(name);
    library.name = name;
    CHECK(failure_of(library).find("is not a valid C++ namespace") != std::string::npos);
  }
}

TEST_CASE("make_interface: accepts at most 256 parameters") {
  std::vector<Parameter> many;
  for (int i = 0; i < 257; i++)
    many.push_back(scalar("p" + std::to_string(i), "i32"));
  CHECK(failure_of(with_parameters(many)) ==
        "error: kernel `scale` has 257 parameters; a launch takes at most 256");
  many.pop_back();
  CHECK(failure_of(with_parameters(many)) == "");
}
