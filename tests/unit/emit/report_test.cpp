// Tests emit/report/report.cpp.

#include "emit/report/report.h"
#include "unit/emit/golden.h"
#include "unit/emit/sample_library.h"

#include <doctest/doctest.h>

using namespace tritonc;

TEST_CASE("report: matches the golden file report.txt") {
  test::check_expected("report.txt", report(sample_library()));
}

TEST_CASE("report: adds spills and shared memory, aligns columns") {
  Library library = sample_library();
  library.kernels.erase(library.kernels.begin());
  Image &image = library.kernels[0].variants[0].images[0];
  image.spill_stores = 1000;
  image.spill_loads = 24;
  image.shared_bytes = 200000;
  image.static_shared = 16;
  CHECK(report(library) == "scale  gpu    threads  registers  shared  spilled  cubin  embedded\n"
                           "       sm_80      128         96  200016     1024  20000        16\n");
}

TEST_CASE("report: has a schedule column unless all are baseline") {
  CHECK(
      report(schedules_library()) ==
      "dot  gpu     schedule                     threads  registers  shared  spilled  cubin  "
      "embedded\n"
      "     sm_80   baseline                         128         96   16384        0  20000        "
      "16\n"
      "     sm_90a  128x256x64 warp-specialized      128         96   16384        0  30000        "
      "23\n"
      "     sm_90a  baseline                         128         96   16384        0  30000        "
      "12\n"
      "     sm_90a  baseline                         128         96   16384        0  30000        "
      " "
      "6\n");
}

TEST_CASE("report: has a specialization column if there are any") {
  Library library = specialized_library();
  CHECK(report(library) ==
        "dot  TM  specializations  gpu     threads  registers  shared  spilled  cubin  embedded\n"
        "     64  lda % 16         sm_80       128         96   16384        0  20000        21\n"
        "     64  lda % 16         sm_90a      128         96   16384        0  20000        28\n"
        "     64  M == 64          sm_80       128         96   16384        0  20000         7\n"
        "     64                   sm_80       128         96   16384        0  20000        16\n"
        "     64                   sm_90a      128         96   16384        0  20000        23\n"
        "     32                   sm_80       128         96   16384        0  20000        16\n"
        "     32                   sm_90a      128         96   16384        0  20000        23\n");
}
