// Maps each error message to an exit code: the cause is the source, the command line, the machine
// or the generated code.
//
// Tested by tests/compile/command_line_test.cpp.

#include "diagnostics/exit_code.h"

namespace tritonc {

ExitCode exit_code_of(Message id) {
  switch (id) {
  case Message::cannot_read:
  case Message::not_a_regular_file:
  case Message::source_too_large:
  case Message::unknown_gpu:
  case Message::unknown_variant:
  case Message::unknown_pass:
  case Message::no_output:
  case Message::usage:
  case Message::unknown_warning:
  case Message::bad_size:
  case Message::bad_variants:
  case Message::bad_name:
  case Message::line_break_in_path:
  case Message::axis_value_twice:
  case Message::too_many_variants:
  case Message::unknown_kernel:
  case Message::no_variant_left:
  case Message::kernel_left_out:
  case Message::gpu_not_compiled:
  case Message::variant_file_syntax:
  case Message::variant_file_entry:
  case Message::condition_syntax:
  case Message::condition_name:
  case Message::condition_value:
  case Message::condition_type:
  case Message::condition_arch:
  case Message::condition_overflow:
  case Message::requirement_syntax:
  case Message::tuning_syntax:
  case Message::problem_syntax:
  case Message::problem_name:
  case Message::problem_missing:
  case Message::problem_cycle:
  case Message::no_problem:
  case Message::too_many_problems:
  case Message::default_syntax:
  case Message::default_axis:
  case Message::default_left_out:
  case Message::specialization_syntax:
  case Message::specialization_impossible:
  case Message::one_variant_wanted:
    return ExitCode::usage;
  case Message::cannot_write:
  case Message::tool_missing:
  case Message::tool_not_a_program:
  case Message::tool_not_started:
  case Message::tool_unusable:
  case Message::tool_too_old:
  case Message::tool_too_new:
  case Message::tool_bad_output:
  case Message::no_temporary_directory:
  case Message::cannot_use_cache:
  case Message::no_host_object:
  case Message::out_of_memory:
  case Message::no_thread:
  case Message::memory_exceeded:
  case Message::job_too_slow:
  case Message::tuner_failed:
  case Message::tuner_output:
    return ExitCode::environment;
  case Message::tool_failed:
  case Message::tool_timed_out:
  case Message::tool_crashed:
  case Message::llvm_failed:
    return ExitCode::backend_failed;
  case Message::no_kernels_inside:
  case Message::file_damaged:
  case Message::image_damaged:
  case Message::other_kernel:
  case Message::other_gpu:
  case Message::other_parameters:
  case Message::other_parameter:
  case Message::other_contents:
  case Message::variants_differ:
    return ExitCode::mismatch;
  case Message::requirement_unmet:
  case Message::warned:
    return ExitCode::gate;
  case Message::internal_error:
    return ExitCode::internal;
  default:
    return ExitCode::source_error;
  }
}

} // namespace tritonc
