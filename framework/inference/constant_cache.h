#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::inference {

/// A folder with what sessions have computed from parameters alone, a file for each recording. The name of a file is a
/// hash of the kernels, of the bytes that they read, of the version and of the processor's instruction set. Files that
/// are damaged, cut off or of something else are passed over, and written anew. Several processes may use a folder.
class KUSARI_API ConstantCache {
 public:
  /// `folder` empty: there is no cache.
  explicit ConstantCache(std::string folder) : folder_{std::move(folder)} {}
  bool is_on() const noexcept { return !folder_.empty(); }

  /// The arrays that slots of a program are bound to; undefined for others.
  using Sources = std::vector<Array>;
  /// Of what the steps of the program compute from their sources, which are on the CPU; empty where they are not.
  static std::string key_of(const graphs::Program& program, const Sources& sources);
  /// Where that is kept.
  std::string path_of(const std::string& key) const;
  /// Arrays of bytes, as many as `sizes` tells; nothing where there is no such file that is whole.
  std::optional<std::vector<Array>> read(const std::string& key, std::span<const size_t> sizes) const;
  /// The choices of config().autotune: takes those that are kept there, and keeps those of this process.
  void restore_tunings() const;
  void keep_tunings() const;
  /// Writes arrays of bytes. What the file system refuses is a warning.
  void write(const std::string& key, std::span<const Array> arrays) const;

 private:
  std::string folder_;
};

}  // namespace kusari::inference
