#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/datasets/tar.h"

namespace kusari::datasets::detail {

/// The files below a folder, or of a tar archive, by their paths from there.
class FileSource {
 public:
  /// IoErrors of `root` begin with what it is.
  FileSource(const char* call, const std::string& root);

  bool contains(const std::string& path) const;
  /// Content, in `buffer` or in memory that lives as long as this. Throws IoError when there is no such file.
  std::span<const uint8_t> read(const std::string& path, std::vector<uint8_t>& buffer) const;
  /// What errors call a file.
  std::string name(const std::string& path) const;
  /// The path of the first file, by name, that is `path` or ends with "/" and `path`; of an archive alone.
  std::optional<std::string> ending_with(const std::string& path) const;
  const std::string& root() const noexcept { return root_; }

 private:
  const char* call_;
  std::string root_;
  std::optional<TarArchive> archive_;
  std::map<std::string, size_t> entries_;
  std::multimap<std::string, std::string> paths_by_last_part_;
};

}  // namespace kusari::datasets::detail
