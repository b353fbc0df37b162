#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari {

/// A file that is read at any place, by several threads at once. IoErrors begin with `call` and the path.
class KUSARI_API InputFile {
 public:
  InputFile(const char* call, const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  uint64_t size() const noexcept { return size_; }
  /// Throws IoError when the file does not reach so far.
  void read(uint64_t offset, std::span<uint8_t> out) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;

  const char* call_;
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

/// A file's whole content, in `buffer`.
KUSARI_API std::span<const uint8_t> read_whole(const char* call, const std::string& path, std::vector<uint8_t>& buffer);

}  // namespace kusari
