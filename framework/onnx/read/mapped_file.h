#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kusari/framework/core/array.h"

namespace kusari::onnx::read {

/// A file's content without a copy. Nobody may write into it.
class MappedFile {
 public:
  /// Throws IoError, beginning with `call`, for a file that cannot be read.
  MappedFile(const char* call, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  /// Gives memory back that these bytes take, which must be of this file; it is read again when it is needed.
  void forget(const void* begin, size_t size) const noexcept;

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// The files of a model whose weights stay in them.
class MappedWeights {
 public:
  /// A file, which is opened once.
  const MappedFile& file(const char* call, const std::string& path);
  /// An array over bytes of one of the files, which lives as long as the array; nobody may write to it. Undefined where
  /// they do not lie as elements must, and where they are so few that a copy costs less.
  Array array(std::string_view bytes, const Shape& shape, Dtype dtype) const;
  /// Gives memory back that an array's elements take, if it is one over a file.
  void forget(const Array& array) const noexcept;

 private:
  const std::shared_ptr<const MappedFile>* holder_of(const void* data) const noexcept;

  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace kusari::onnx::read
