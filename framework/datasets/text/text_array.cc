#include "kusari/framework/datasets/text/text_array.h"

#include <cstring>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

Array text_array(std::string_view text) {
  const Array bytes = empty({static_cast<int64_t>(text.size())}, Dtype::uint8);
  if (!text.empty()) std::memcpy(bytes.raw_data(), text.data(), text.size());
  return bytes;
}

std::string text_of(const Array& bytes) {
  if (!bytes.is_defined() || bytes.ndim() != 1 || bytes.dtype() != Dtype::uint8) {
    throw TypeError(bytes.is_defined()
                        ? std::string("text_of: the array has dtype ") + name(bytes.dtype()) + " and shape " +
                              to_string(bytes.shape()) + ": uint8 and one axis are needed"
                        : "text_of: the array is undefined");
  }
  const std::vector<uint8_t> values = bytes.to_vector<uint8_t>();
  std::string text(values.begin(), values.end());
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace kusari::datasets
