#include "kusari/framework/serializers/npy_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npy.h"

namespace kusari::serializers {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_{path}, file_{path, std::ios::binary | std::ios::ate} {
    const std::streamoff size = file_ ? static_cast<std::streamoff>(file_.tellg()) : -1;
    if (size < 0) throw IoError("load_npy: " + path + " cannot be opened: " + std::strerror(errno));
    remaining_ = static_cast<uint64_t>(size);
    file_.seekg(0);
  }
  void read(void* data, size_t size) override {
    if (size > remaining_) throw IoError("load_npy: " + path_ + " is cut off");
    if (!file_.read(static_cast<char*>(data), static_cast<std::streamsize>(size))) {
      throw IoError("load_npy: " + path_ + " cannot be read: " + std::strerror(errno));
    }
    remaining_ -= size;
  }
  uint64_t remaining() const noexcept override { return remaining_; }
  std::string describe() const override { return path_; }

 private:
  std::string path_;
  std::ifstream file_;
  uint64_t remaining_ = 0;
};

}  // namespace

Array load_npy(const std::string& path) {
  FileSource source(path);
  const NpyHeader header = read_npy_header(source);
  if (header.kind != NpyKind::numbers) throw IoError("load_npy: " + path + " holds no numbers but " + header.descr);
  const Array array = empty(header.shape, header.dtype);
  read_npy_numbers(source, header, array.raw_data());
  return array;
}

void save_npy(const std::string& path, const Array& array) {
  const Array host = array.to_device(Device()).contiguous();
  AtomicFile file(path);
  file.write(npy_header(npy_descr(host.dtype()), host.shape()));
  file.write(host.raw_data(), static_cast<size_t>(host.nbytes()));
  file.commit();
}

}  // namespace kusari::serializers
