#include "kusari/framework/distributed/array_messages.h"

#include <cstring>

#include "kusari/framework/serializers/dictionary_message.h"

namespace kusari::distributed {

namespace {

constexpr char kWhole = 'w', kAlone = 'a';  // what a message begins with where there are devices

}  // namespace

bool ArrayMessages::goes_alone(const Array& array) const {
  return devices_ != nullptr && array.device() == devices_->device();
}

std::string ArrayMessages::message(const Array& array) const {
  if (devices_ == nullptr) return serializers::pack_array(array);
  if (!goes_alone(array)) return kWhole + serializers::pack_array(array);
  std::string text{kAlone, static_cast<char>(array.dtype())};
  for (const int64_t size : array.shape()) text.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return text;
}

std::vector<std::string> ArrayMessages::messages(std::span<const Array> arrays) const {
  std::vector<std::string> result;
  for (const Array& array : arrays) result.push_back(message(array));
  return result;
}

// Undefined for one that is whole in its message.
Array ArrayMessages::expected(const std::string& message) const {
  if (message[0] == kWhole) return Array();
  Shape shape;
  for (size_t at = 2; at < message.size(); at += sizeof(int64_t)) {
    int64_t size;
    std::memcpy(&size, message.data() + at, sizeof(size));
    shape.push_back(size);
  }
  return empty(shape, static_cast<Dtype>(message[1]), devices_->device());
}

std::vector<Array> ArrayMessages::received(std::span<const std::string> messages, std::span<const Array> sent,
                                           const Device& device) const {
  std::vector<Array> arrays, given;
  if (devices_ == nullptr) {
    for (const std::string& message : messages) {
      arrays.push_back(message.empty() ? Array() : serializers::unpack_array(message).to_device(device));
    }
    return arrays;
  }
  for (const std::string& message : messages) arrays.push_back(message.empty() ? Array() : expected(message));
  for (const Array& array : sent) {
    given.push_back(array.is_defined() && goes_alone(array) ? array.contiguous() : Array());
  }
  devices_->exchange(given, arrays);
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (messages[i].empty()) continue;
    const Array whole = arrays[i].is_defined() ? arrays[i] : serializers::unpack_array(messages[i].substr(1));
    arrays[i] = whole.to_device(device);
  }
  return arrays;
}

Array ArrayMessages::broadcast(const std::string& message, const Array& own, bool is_root, int root,
                               const Device& device) const {
  if (devices_ == nullptr) return serializers::unpack_array(message).to_device(device);
  Array result = expected(message);
  if (!result.is_defined()) return serializers::unpack_array(message.substr(1)).to_device(device);
  if (is_root) result.copy_from(own);
  devices_->broadcast(result, root);
  return result.to_device(device);
}

}  // namespace kusari::distributed
