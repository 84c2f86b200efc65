/// @file
/// A header whose example does not compile: tritonc_launch has more parameters.
///
/// @code{.c}
/// #include <tritonc/runtime.h>
///
/// #include <stdio.h>
///
/// int main(void) {
///   printf("%d\n", tritonc_launch(NULL).code); // 0
///   return 0;
/// }
/// @endcode

#pragma once
