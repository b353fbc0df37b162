#include "kusari/framework/distributed/functions/connections.h"

#include <string>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/distributed/functions/pseudo_connect.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/copy.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {

namespace F = kusari::functions;

Variable connected(const Variable& x) {
  if (x.requires_grad() || !is_floating(x.dtype())) return x;
  return Variable(x.array(), true);
}

std::vector<Variable> all_connected(std::span<const Variable> xs) {
  std::vector<Variable> all;
  for (const Variable& x : xs) all.push_back(connected(x));
  return all;
}

std::vector<Array> arrays_of(const ArrayRefs& in) {
  std::vector<Array> arrays;
  for (size_t i = 0; i < in.size(); ++i) arrays.push_back(in[i]);
  return arrays;
}

Variable on_device(const Variable& x, const Device& device) { return x.device() == device ? x : F::copy(x, device); }

Variable new_delegate() { return Variable(zeros({}, Dtype::float32), true); }

Variable connection(const Variable& delegate) {
  if (!delegate.is_defined() || !is_floating(delegate.dtype())) return new_delegate();
  return connected(delegate);
}

Variable gradient_through(const Variable& delegate, const Shape& shape, Dtype dtype, const Device& device) {
  if (delegate.creator() == nullptr) return Variable(zeros(shape, dtype, device), false);
  return F::broadcast_to(F::cast(on_device(delegate, device), dtype), shape);
}

Arrays CommunicatorFunction::tied(std::vector<Array> outputs) {
  GraphCapture::refuse(name(), "it exchanges arrays with other processes");
  retain_outputs({0});
  Arrays all{zeros({}, Dtype::float32)};
  for (Array& output : outputs) {
    forms_.push_back({output.shape(), output.dtype(), output.device()});
    all.push_back(std::move(output));
  }
  return all;
}

std::vector<Variable> CommunicatorFunction::tied_gradients(const Variables& gy) {
  std::vector<Variable> gradients;
  for (size_t i = 0; i < forms_.size(); ++i) {
    const Form& form = forms_[i];
    const Variable& given = gy[i + 1];
    gradients.push_back(given.is_defined() ? given : Variable(zeros(form.shape, form.dtype, form.device), false));
  }
  if (!config().enable_backprop) return gradients;
  const Variables connected = pseudo_connect(retained_output(0), gradients);
  return std::vector<Variable>(connected.begin(), connected.end());
}

Variable CommunicatorFunction::tie_gradient(const Variables& gy) {
  return config().enable_backprop ? pseudo_connect(retained_output(0), gy[0]) : gy[0];
}

Variables without_tie(const Variables& outputs) {
  Variables visible;
  for (size_t i = 1; i < outputs.size(); ++i) visible.push_back(outputs[i]);
  return visible;
}

void expect_rank(const Communicator& comm, const char* call, const char* argument, int rank) {
  if (rank >= 0 && rank < comm.size()) return;
  throw ValueError(std::string(call) + ": " + argument + " is " + std::to_string(rank) + ": it must be in [0, " +
                   std::to_string(comm.size()) + "), the ranks of the communicator");
}

void expect_one_for_each_rank(const Communicator& comm, const char* call, std::span<const Variable> xs) {
  if (static_cast<int>(xs.size()) != comm.size()) {
    throw ValueError(std::string(call) + ": xs has " + std::to_string(xs.size()) + " variables: there must be " +
                     std::to_string(comm.size()) + ", one for each rank");
  }
  F::expect_all_given(xs, call);
}

}  // namespace kusari::distributed::functions
