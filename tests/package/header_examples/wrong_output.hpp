/// @file
/// A header whose example prints another number than it says.
///
/// @code{.cpp}
/// #include <tritonc/numbers.hpp>
///
/// #include <cstdio>
///
/// int main() {
///   std::printf("%g\n", float(tritonc::half(0.25f))); // 0.5
/// }
/// @endcode

#pragma once
