// The fuzz targets: each takes any bytes, and returns, unless there is a bug. Who calls them:
// libFuzzer, through fuzzer.cpp; and replay.cpp, for inputs of files, in every build.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tritonc::fuzz {

/// A source with options (source_input.h), through the preprocessor, the parser, the checker and
/// the translation to tile IR.
void front_end(std::string_view bytes);

/// The same with the source that a grammar makes of the bytes, which is wrong in few places.
void grammar(std::string_view bytes);

/// Tile IR as text (ir/printer.h): the parser, and, if the verifier accepts what it reads, all
/// passes. The first line may say for what, as in source_input.h: `//! gpu 90a 2`.
void tile_ir(std::string_view bytes);

/// A source with options through everything up to PTX.
void ptx(std::string_view bytes);

/// Makes another input for a target that wants text of a form that bytes seldom have.
using Mutate = std::string(std::string_view bytes, uint64_t seed);
Mutate mutate_tile_ir, mutate_source;

} // namespace tritonc::fuzz
