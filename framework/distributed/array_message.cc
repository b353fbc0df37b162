#include "kusari/framework/distributed/array_message.h"

#include <cstring>
#include <utility>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/sum_rows.h"

namespace kusari::distributed {
namespace {

struct MessageHead {
  int32_t dtype;
  int32_t ndim;
};

}  // namespace

std::string pack_array(const Array& array) {
  const Array host = array.to_device(Device()).contiguous();
  const MessageHead head{static_cast<int32_t>(host.dtype()), host.ndim()};
  const size_t dims = static_cast<size_t>(host.ndim()) * sizeof(int64_t);
  std::string message(sizeof(head) + dims + static_cast<size_t>(host.nbytes()), '\0');
  std::memcpy(message.data(), &head, sizeof(head));
  for (int axis = 0; axis < host.ndim(); ++axis) {
    const int64_t size = host.shape(axis);
    std::memcpy(message.data() + sizeof(head) + static_cast<size_t>(axis) * sizeof(size), &size, sizeof(size));
  }
  if (host.nbytes() > 0) {
    std::memcpy(message.data() + sizeof(head) + dims, host.raw_data(), static_cast<size_t>(host.nbytes()));
  }
  return message;
}

Array unpack_array(std::string message) {
  const auto damaged = [] { return Error("Communicator: a message that should be an array is none"); };
  MessageHead head;
  if (message.size() < sizeof(head)) throw damaged();
  std::memcpy(&head, message.data(), sizeof(head));
  const size_t dims = static_cast<size_t>(head.ndim) * sizeof(int64_t);
  if (head.dtype < 0 || head.dtype >= kDtypeCount || head.ndim < 0 || message.size() < sizeof(head) + dims) {
    throw damaged();
  }
  Shape shape;
  for (int axis = 0; axis < head.ndim; ++axis) {
    int64_t size;
    std::memcpy(&size, message.data() + sizeof(head) + static_cast<size_t>(axis) * sizeof(size), sizeof(size));
    shape.push_back(size);
  }
  const Array array = empty(shape, static_cast<Dtype>(head.dtype));
  if (message.size() != sizeof(head) + dims + static_cast<size_t>(array.nbytes())) throw damaged();
  if (array.nbytes() > 0) {
    std::memcpy(array.raw_data(), message.data() + sizeof(head) + dims, static_cast<size_t>(array.nbytes()));
  }
  return array;
}

Array sum_of_rows(const Array& rows) {
  const Array sum = empty({rows.shape(1)}, rows.dtype());
  launch<kernels::SumRows>(Device(), rows, Array(), 1.0, sum);
  return sum;
}

std::optional<Dtype> checked_gradient_dtype(const char* call, std::optional<Dtype> dtype) {
  if (!dtype || is_floating(*dtype)) return dtype;
  throw ValueError(std::string(call) + ": allreduce_grad_dtype is " + name(*dtype) +
                   ": it must be float16, bfloat16, float32 or float64");
}

}  // namespace kusari::distributed
