// The fuzz targets. Each accepts any bytes and returns, unless there is a bug. libFuzzer calls them
// through fuzzer.cpp. replay.cpp calls them for files, in every build.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tritonc::fuzz {

/// Runs a source with options (source_input.h) through preprocessor, parser, checker and
/// translation to tile IR.
void front_end(std::string_view bytes);

/// Generates a source from the bytes with a grammar, and runs it like front_end. It has few errors.
void grammar(std::string_view bytes);

/// Parses tile IR as text (ir/printer.h). If the verifier accepts the function, runs all passes.
/// The first line may name GPU and schedule, as in source_input.h: `//! gpu 90a 2`.
void tile_ir(std::string_view bytes);

/// Compiles a source with options to PTX.
void ptx(std::string_view bytes);

/// Mutates an input into another text, for targets that random bytes seldom pass.
using Mutate = std::string(std::string_view bytes, uint64_t seed);
Mutate mutate_tile_ir, mutate_source;

} // namespace tritonc::fuzz
