#include "kusari/framework/cpu/blocks.h"

#include <cstring>

#include "kusari/framework/cpu/isa.h"

namespace kusari::cpu {
namespace {

template <class Word>
void copy_words(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t n) {
  if (from_stride == 0 && to_stride == static_cast<int64_t>(sizeof(Word))) {
    Word value;
    std::memcpy(&value, from, sizeof(Word));
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof(Word)), &value, sizeof(Word));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(Word));
}

}  // namespace

ConvertLoop convert_loop(Dtype from, Dtype to) {
  static const ConvertLoops& loops = *KUSARI_LOOPS(isa(), convert_loops);
  return loops.loop[static_cast<int>(from)][static_cast<int>(to)];
}

void copy_strided(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t n, int itemsize) {
  if (from_stride == itemsize && to_stride == itemsize) {
    std::memcpy(to, from, static_cast<size_t>(n * itemsize));
  } else if (itemsize == 4) {
    copy_words<uint32_t>(from, from_stride, to, to_stride, n);
  } else if (itemsize == 8) {
    copy_words<uint64_t>(from, from_stride, to, to_stride, n);
  } else if (itemsize == 2) {
    copy_words<uint16_t>(from, from_stride, to, to_stride, n);
  } else {
    copy_words<uint8_t>(from, from_stride, to, to_stride, n);
  }
}

BlockReader::BlockReader(Dtype dtype, int64_t stride_bytes, Compute compute)
    : itemsize_{static_cast<int>(itemsize(dtype))},
      stride_{stride_bytes},
      direct_{dtype == dtype_of_compute(compute) && stride_bytes == itemsize_},
      convert_{dtype == dtype_of_compute(compute) ? nullptr : convert_loop(dtype, dtype_of_compute(compute))} {}

const void* BlockReader::read(const char* from, int64_t n, void* buffer) const {
  if (direct_) return from;
  if (convert_ == nullptr) {
    copy_strided(from, stride_, static_cast<char*>(buffer), itemsize_, n, itemsize_);
  } else if (stride_ == itemsize_) {
    convert_(from, buffer, n);
  } else {
    alignas(64) char raw[kBlockBytes];
    copy_strided(from, stride_, raw, itemsize_, n, itemsize_);
    convert_(raw, buffer, n);
  }
  return buffer;
}

BlockWriter::BlockWriter(Dtype dtype, int64_t stride_bytes, Compute compute)
    : itemsize_{static_cast<int>(itemsize(dtype))},
      stride_{stride_bytes},
      direct_{dtype == dtype_of_compute(compute) && stride_bytes == itemsize_},
      convert_{dtype == dtype_of_compute(compute) ? nullptr : convert_loop(dtype_of_compute(compute), dtype)} {}

void BlockWriter::write(const void* buffer, int64_t n, char* to) const {
  if (convert_ == nullptr) {
    copy_strided(static_cast<const char*>(buffer), itemsize_, to, stride_, n, itemsize_);
  } else if (stride_ == itemsize_) {
    convert_(buffer, to, n);
  } else {
    alignas(64) char raw[kBlockBytes];
    convert_(buffer, raw, n);
    copy_strided(raw, itemsize_, to, stride_, n, itemsize_);
  }
}

}  // namespace kusari::cpu
