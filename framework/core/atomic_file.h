#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kusari/framework/core/export.h"

namespace kusari {

/// A file that appears under its name whole or not at all.
/// Bytes go to a temporary file in the target's directory; commit() syncs it, renames it over the target and syncs the
/// directory, so that a reader, a killed process or a power cut sees the old file or the new one. Without commit(),
/// the destructor removes the temporary file. A symbolic link is followed: what it names is replaced, the link stays.
/// Every failure is an IoError that names the file, the step and the system's reason.
class KUSARI_API AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends `size` bytes.
  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Replaces bytes that were written before; [offset, offset + size) must lie inside the file.
  void overwrite(uint64_t offset, const void* data, size_t size);
  /// Number of bytes written so far.
  uint64_t size() const noexcept;
  /// Puts all that was written on the disk, where space may be short, with the file still to appear. For several files
  /// that belong together: commit() has little left that can fail.
  void flush();
  /// Makes the file appear. Nothing can be written afterwards. Without `sync` it takes microseconds, and only a power
  /// cut can leave neither the old file nor the new one.
  void commit(bool sync = true);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Removes the temporary files that killed processes have left in a directory; those of living ones, which hold a lock
/// on them, stay. Returns how many. What cannot be removed stays silently.
KUSARI_API size_t remove_stale_temporary_files(const std::string& directory);

/// Writes `content` to `path` through an AtomicFile.
KUSARI_API void write_file_atomically(const std::string& path, std::string_view content, bool sync = true);

}  // namespace kusari
