#include "kusari/framework/serializers/npy_file.h"

#include <cstdint>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/serializers/npy.h"

namespace kusari::serializers {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : file_{"load_npy", path} {}
  void read(void* data, size_t size) override {
    file_.read(at_, {static_cast<uint8_t*>(data), size});
    at_ += size;
  }
  uint64_t remaining() const noexcept override { return file_.size() - at_; }
  std::string describe() const override { return file_.path(); }

 private:
  InputFile file_;
  uint64_t at_ = 0;
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
  if (!array.is_defined()) throw TypeError("save_npy: array is not given: it is required");

  const Array host = array.to_device(Device()).contiguous();
  AtomicFile file(path);
  file.write(npy_header(npy_descr(host.dtype()), host.shape()));
  file.write(host.raw_data(), static_cast<size_t>(host.nbytes()));
  file.commit();
}

}  // namespace kusari::serializers
