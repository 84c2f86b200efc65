/// @file
/// A header without an example at its top.

#pragma once

/// @code{.cpp}
/// int main() {}
/// @endcode
inline constexpr int answer = 42;
