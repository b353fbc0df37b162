#include "kusari/framework/datasets/detection/file_source.h"

#include <filesystem>
#include <system_error>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"

namespace kusari::datasets::detail {

FileSource::FileSource(const char* call, const std::string& root) : call_{call}, root_{root} {
  std::error_code ignored;
  if (std::filesystem::is_directory(root, ignored)) return;
  if (!std::filesystem::is_regular_file(root, ignored)) {
    throw IoError(std::string(call) + ": " + root + " is neither a folder nor a tar archive");
  }
  archive_.emplace(root);
  for (size_t i = 0; i < archive_->entries().size(); ++i) {
    std::string path = archive_->entries()[i].name;
    if (path.starts_with("./")) path.erase(0, 2);
    entries_[path] = i;
  }
  for (const auto& [path, index] : entries_) {
    paths_by_last_part_.emplace(path.substr(path.rfind('/') + 1), path);
  }
}

bool FileSource::contains(const std::string& path) const {
  if (archive_) return entries_.contains(path);
  std::error_code ignored;
  return std::filesystem::is_regular_file(name(path), ignored);
}

std::span<const uint8_t> FileSource::read(const std::string& path, std::vector<uint8_t>& buffer) const {
  if (!archive_) return read_whole(call_, name(path), buffer);
  const auto found = entries_.find(path);
  if (found == entries_.end()) throw IoError(std::string(call_) + ": " + root_ + " has no file '" + path + "'");
  return archive_->read(found->second, buffer);
}

std::string FileSource::name(const std::string& path) const {
  return archive_ ? root_ + ": " + path : (std::filesystem::path(root_) / path).string();
}

std::optional<std::string> FileSource::ending_with(const std::string& path) const {
  if (entries_.contains(path)) return path;
  const auto [first, last] = paths_by_last_part_.equal_range(path.substr(path.rfind('/') + 1));
  for (auto candidate = first; candidate != last; ++candidate) {
    if (candidate->second.ends_with("/" + path)) return candidate->second;
  }
  return std::nullopt;
}

}  // namespace kusari::datasets::detail
