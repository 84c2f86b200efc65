// Finds temporary files and directories whose process was killed.
//
// The owner of a temporary file or directory holds a lock on it (flock). Linux releases the lock
// when the process ends, also after SIGKILL. So an unlocked one has no owner, and the next run
// removes it.
#pragma once

#include <string>

namespace tritonc {

/// The template for mkostemp and mkdtemp in a folder: `folder/.tritonc-tmp-XXXXXX`.
std::string temporary_name_in(const std::string &folder);

/// Locks a file or directory that this process created a moment ago; the owner keeps the
/// descriptor open. Returns false if another process removed it before the lock. Create another
/// one then.
///
/// If the file system has no locks, this returns true without a lock. remove_abandoned cannot lock
/// there either, so it removes nothing.
bool lock_as_owner(int descriptor);

/// Removes the temporary files and directories in `folder` that belong to this user and have no
/// owner.
void remove_abandoned(const std::string &folder);

} // namespace tritonc
