#include "kusari/framework/distributed/functions/connections.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
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

Variable gradient_through(const Variable& delegate, const Shape& shape, Dtype dtype, const Device& device) {
  if (delegate.creator() == nullptr) return Variable(zeros(shape, dtype, device), false);
  return F::broadcast_to(F::cast(on_device(delegate, device), dtype), shape);
}

void OutputForms::keep(const Arrays& outputs) {
  for (const Array& output : outputs) forms_.push_back({output.shape(), output.dtype(), output.device()});
}

std::vector<Variable> OutputForms::filled(const Variables& gradients) const {
  std::vector<Variable> all;
  for (size_t i = 0; i < forms_.size(); ++i) {
    const Form& form = forms_[i];
    all.push_back(gradients[i].is_defined() ? gradients[i]
                                            : Variable(zeros(form.shape, form.dtype, form.device), false));
  }
  return all;
}

void CommunicatorFunction::refuse_recording() const {
  GraphCapture::refuse(name(), "it exchanges arrays with other processes");
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
