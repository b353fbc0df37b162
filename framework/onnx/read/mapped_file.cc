#include "kusari/framework/onnx/read/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::onnx::read {

namespace {

constexpr size_t kLeast = size_t{64} << 10;  // bytes of an array over a file

}  // namespace

MappedFile::MappedFile(const char* call, const std::string& path) {
  const auto fail = [&](int error) {
    throw IoError(std::string(call) + ": " + path + " cannot be read: " + std::generic_category().message(error));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(errno);
  struct stat status {};
  int error = ::fstat(file, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
  size_ = static_cast<size_t>(status.st_size);
  if (error == 0 && size_ > 0) {
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (data_ == MAP_FAILED) error = errno;
  }
  ::close(file);
  if (error != 0) fail(error);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(data_, size_);
}

void MappedFile::forget(const void* begin, size_t size) const noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), at = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (at + page - 1) / page * page, last = (at + size) / page * page;
  // Pages that nobody may write to are read again from the file.
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

const MappedFile& MappedWeights::file(const char* call, const std::string& path) {
  std::shared_ptr<const MappedFile>& file = files_[path];
  if (file == nullptr) file = std::make_shared<const MappedFile>(call, path);
  return *file;
}

const std::shared_ptr<const MappedFile>* MappedWeights::holder_of(const void* data) const noexcept {
  for (const auto& [path, file] : files_) {
    const char* const begin = file->bytes().data();
    if (data >= begin && data < begin + file->bytes().size()) return &file;
  }
  return nullptr;
}

Array MappedWeights::array(std::string_view bytes, const Shape& shape, Dtype dtype) const {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (bytes.size() < kLeast || address % static_cast<uintptr_t>(itemsize(dtype)) != 0) return {};
  const auto* const holder = holder_of(bytes.data());
  if (holder == nullptr) return {};
  using Holder = std::shared_ptr<const MappedFile>;
  const auto release = [](void* context) { delete static_cast<Holder*>(context); };
  Array array = from_external(const_cast<char*>(bytes.data()), shape, contiguous_strides(shape), dtype, Device(),
                              release, new Holder(*holder));
  // Nobody can write there, so that what kernels derive from it may be kept.
  const_cast<kusari::detail::Storage&>(array.storage()).is_exposed.store(false, std::memory_order_relaxed);
  return array;
}

void MappedWeights::forget(const Array& array) const noexcept {
  if (!array.is_defined() || !array.device().is_cpu()) return;
  const auto* const holder = holder_of(array.storage().data);
  if (holder != nullptr) (*holder)->forget(array.storage().data, array.storage().bytes);
}

}  // namespace kusari::onnx::read
