#include "kusari/framework/distributed/communicator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/distributed/array_messages.h"
#include "kusari/framework/distributed/byte_messages.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/all_reduce.h"
#include "kusari/framework/kernels/device_group.h"
#include "kusari/framework/kernels/sum_rows.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/serializers/dictionary_message.h"
#include "kusari/optimizers/gradient_exchange.h"

namespace kusari::distributed {

using collectives::Group;
using serializers::pack_array;
using serializers::unpack_array;

struct Communicator::State {
  std::shared_ptr<Group> group;
  std::string name;
  CommunicatorOptions options;
  std::shared_ptr<DeviceGroups> device_groups;  // null: arrays travel through the host
};

namespace {

void check_rank(const Communicator& comm, const char* method, const char* what, int rank) {
  if (rank >= 0 && rank < comm.size()) return;
  throw ValueError(std::string("Communicator::") + method + ": " + what + " is " + std::to_string(rank) +
                   ": it must be a rank of the " + std::to_string(comm.size()));
}

void check_peer(const Communicator& comm, const char* method, const char* what, int rank, int tag) {
  check_rank(comm, method, what, rank);
  if (rank == comm.rank()) {
    throw ValueError(std::string("Communicator::") + method + ": " + what + " is " + std::to_string(rank) +
                     ", this rank itself: it must be another one");
  }
  if (tag >= 0 && tag < Group::kUserTags) return;
  throw ValueError(std::string("Communicator::") + method + ": tag is " + std::to_string(tag) +
                   ": it must be at least 0 and below " + std::to_string(Group::kUserTags));
}

void check_count(const Communicator& comm, const char* method, size_t count) {
  if (count == static_cast<size_t>(comm.size())) return;
  throw ValueError(std::string("Communicator::") + method + ": there are " + std::to_string(count) +
                   " parts: there must be one for each of the " + std::to_string(comm.size()) + " ranks");
}

void check_defined(const char* method, const Array& array) {
  if (!array.is_defined()) {
    throw TypeError(std::string("Communicator::") + method + ": the array is undefined: it must have elements");
  }
}

Device device_of(std::span<const Array> arrays) {
  for (const Array& array : arrays) {
    if (array.is_defined()) return array.device();
  }
  return Device();
}

/// "float32 (3, 4)"; of several, with commas.
std::string kind_of(std::span<const Array> arrays) {
  std::string text;
  for (const Array& array : arrays) {
    text += (text.empty() ? "" : ", ") + std::string(kusari::name(array.dtype())) + " " + to_string(array.shape());
  }
  return text;
}

/// Contiguous elements of one's own on the CPU.
Array host_copy(const Array& array) {
  const Array host = array.to_device(Device()).contiguous();
  return host.is_same(array) || &host.storage() == &array.storage() ? host.copy() : host;
}

/// The same on the array's device.
Array own_copy(const Array& array) {
  const Array copy = empty(array.shape(), array.dtype(), array.device());
  copy.copy_from(array);
  return copy;
}

}  // namespace

GradientExchangeOptions exchange_options(const Communicator& communicator) {
  GradientExchangeOptions options{.wire_dtype = communicator.options().allreduce_grad_dtype};
  if (communicator.name() == "naive") options.bucket_bytes = 0;
  if (communicator.name() == "flat") options.bucket_bytes = std::numeric_limits<int64_t>::max();
  options.exchanges = communicator.name() != "dummy";
  options.device_groups = communicator.shared_device_groups();
  return options;
}

Communicator::Communicator() : Communicator(std::make_shared<Group>()) {}

Communicator::Communicator(std::shared_ptr<Group> group, std::string name, const CommunicatorOptions& options)
    : state_{std::make_shared<State>(State{std::move(group), std::move(name), options, nullptr})} {
  const bool must_have = state_->name == "pure_nccl";
  if (must_have || state_->name == "auto") {
    state_->device_groups = std::make_shared<DeviceGroups>(*state_->group, must_have);
  }
}

int Communicator::rank() const noexcept { return state_->group->rank(); }
int Communicator::size() const noexcept { return state_->group->size(); }
int Communicator::intra_rank() const noexcept { return state_->group->intra_rank(); }
int Communicator::intra_size() const noexcept { return state_->group->intra_size(); }
int Communicator::inter_rank() const noexcept { return state_->group->inter_rank(); }
int Communicator::inter_size() const noexcept { return state_->group->inter_size(); }
const std::string& Communicator::name() const noexcept { return state_->name; }
const CommunicatorOptions& Communicator::options() const noexcept { return state_->options; }
Group& Communicator::group() const { return *state_->group; }
std::shared_ptr<Group> Communicator::shared_group() const { return state_->group; }
std::shared_ptr<DeviceGroups> Communicator::shared_device_groups() const { return state_->device_groups; }

Communicator Communicator::split(int color, int key) const {
  if (color < 0) {
    throw ValueError("Communicator::split: color is " + std::to_string(color) + ": it must not be negative");
  }
  return Communicator(group().split(color, key), state_->name, state_->options);
}

Communicator Communicator::duplicate() const { return split(0, rank()); }

// Null while arrays travel through the host: the same on all ranks.
DeviceGroup* Communicator::devices() const {
  return state_->device_groups != nullptr ? state_->device_groups->made() : nullptr;
}

// Sums need alike arrays everywhere, which all ranks find out together. What adds them, if they are on devices that
// can; otherwise null.
DeviceGroup* Communicator::check_alike(const char* operation, const char* method, std::span<const Array> arrays) const {
  bool is_on_device = state_->device_groups != nullptr;
  for (const Array& array : arrays) {
    is_on_device = is_on_device && !array.device().is_cpu();
    if (array.dtype() != Dtype::bool_) continue;
    throw TypeError(std::string("Communicator::") + method + ": the array has dtype bool: it must hold numbers");
  }
  const std::string own = kind_of(arrays);
  const std::vector<std::string> kinds = group().allgather({operation}, own + (is_on_device ? "+" : "-"));
  bool are_on_devices = true;
  for (int r = 0; r < size(); ++r) {
    std::string kind = kinds[static_cast<size_t>(r)], first = kinds[0];
    are_on_devices = are_on_devices && kind.back() == '+';
    kind.pop_back();
    first.pop_back();
    if (kind == first) continue;
    throw TypeError(std::string("Communicator::") + method + ": " + group().describe(r) + " gives " + kind + " but " +
                    group().describe(0) + " gives " + first + ": they must be alike");
  }
  return are_on_devices ? state_->device_groups->of(arrays[0].device()) : nullptr;
}

void Communicator::send(const Array& data, int dest, int tag) const {
  check_peer(*this, "send", "dest", dest, tag);
  check_defined("send", data);
  group().send(pack_array(data), dest, tag);
}

Array Communicator::recv(int source, int tag) const {
  check_peer(*this, "recv", "source", source, tag);
  return unpack_array(group().recv(source, tag));
}

Array Communicator::bcast(const Array& data, int root) const {
  check_rank(*this, "bcast", "root", root);
  const bool is_sender = rank() == root;
  if (is_sender) check_defined("bcast", data);
  if (size() == 1) return data.copy();
  const ArrayMessages arrays(devices());
  const std::string message = group().bcast({"bcast"}, is_sender ? arrays.message(data) : std::string(), root);
  return arrays.broadcast(message, data, is_sender, root, device_of({&data, 1}));
}

std::vector<Array> Communicator::gather(const Array& data, int root) const {
  check_rank(*this, "gather", "root", root);
  check_defined("gather", data);
  const ArrayMessages arrays(devices());
  std::vector<Array> sent(static_cast<size_t>(size()));
  sent[static_cast<size_t>(root)] = data;
  return arrays.received(group().gather({"gather"}, arrays.message(data), root), sent, data.device());
}

std::vector<Array> Communicator::allgather(const Array& data) const {
  check_defined("allgather", data);
  const ArrayMessages arrays(devices());
  const std::vector<Array> sent(static_cast<size_t>(size()), data);
  return arrays.received(group().allgather({"allgather"}, arrays.message(data)), sent, data.device());
}

Array Communicator::scatter(std::span<const Array> xs, int root) const {
  check_rank(*this, "scatter", "root", root);
  const std::span<const Array> sent = rank() == root ? xs : std::span<const Array>();
  if (rank() == root) check_count(*this, "scatter", xs.size());
  for (const Array& x : sent) check_defined("scatter", x);
  const ArrayMessages arrays(devices());
  std::vector<std::string> messages(static_cast<size_t>(root) + 1);  // the root's alone is there
  messages.back() = group().scatter({"scatter"}, arrays.messages(sent), root);
  return arrays.received(messages, sent, device_of(xs)).back();
}

std::vector<Array> Communicator::alltoall(std::span<const Array> xs) const {
  check_count(*this, "alltoall", xs.size());
  for (const Array& x : xs) check_defined("alltoall", x);
  const ArrayMessages arrays(devices());
  return arrays.received(group().alltoall({"alltoall"}, arrays.messages(xs)), xs, device_of(xs));
}

Array Communicator::allreduce(const Array& data) const {
  check_defined("allreduce", data);
  if (DeviceGroup* const devices = check_alike("all-reduce", "allreduce", {&data, 1})) {
    const Array sum = own_copy(data);
    devices->all_reduce(sum);
    return sum;
  }
  const Array sum = host_copy(data);
  AllReduce(group(), sum).wait();
  return sum.to_device(data.device());
}

Array Communicator::reduce(const Array& data, int root) const {
  check_rank(*this, "reduce", "root", root);
  check_defined("reduce", data);
  if (DeviceGroup* const devices = check_alike("all-reduce", "reduce", {&data, 1})) {
    const Array sum = own_copy(data);
    devices->reduce(sum, root);
    return rank() == root ? sum : Array();
  }
  const Array sum = host_copy(data);
  AllReduce(group(), sum).wait();
  return rank() == root ? sum.to_device(data.device()) : Array();
}

Array Communicator::reduce_scatter(std::span<const Array> xs) const {
  check_count(*this, "reduce_scatter", xs.size());
  for (const Array& x : xs) check_defined("reduce_scatter", x);
  DeviceGroup* const devices = check_alike("reduce-scatter", "reduce_scatter", xs);
  const auto alike = [&](const Array& x) { return x.shape() == xs[0].shape() && x.dtype() == xs[0].dtype(); };
  if (devices != nullptr && std::all_of(xs.begin(), xs.end(), alike)) {
    const Array all = empty({size(), xs[0].size()}, xs[0].dtype(), devices->device());
    for (int r = 0; r < size(); ++r) all.at(r).copy_from(xs[static_cast<size_t>(r)].reshape({-1}));
    const Array sum = empty(xs[0].shape(), xs[0].dtype(), devices->device());
    devices->reduce_scatter(all, sum);
    return sum;
  }
  const ArrayMessages arrays(nullptr);
  const std::vector<Array> parts =
      arrays.received(group().alltoall({"reduce-scatter"}, arrays.messages(xs)), xs, Device());
  const Array& own = parts[0];
  const Array rows = empty({size(), own.size()}, own.dtype());
  for (int r = 0; r < size(); ++r) rows.at(r).copy_from(parts[static_cast<size_t>(r)].reshape({-1}));
  const Array sum = empty({own.size()}, own.dtype());
  launch<kernels::SumRows>(Device(), rows, Array(), 1.0, sum);
  return sum.reshape(own.shape()).to_device(device_of(xs));
}

Array Communicator::multi_node_mean(const Array& data) const {
  check_defined("multi_node_mean", data);
  if (!data.is_floating()) {
    throw TypeError(std::string("Communicator::multi_node_mean: the array has dtype ") + kusari::name(data.dtype()) +
                    ": it must be floating");
  }
  if (DeviceGroup* const devices = check_alike("all-reduce", "multi_node_mean", {&data, 1})) {
    const Array mean = own_copy((Variable(data, false) / size()).array());
    devices->all_reduce(mean);
    return mean;
  }
  const Array mean = host_copy(data);
  AllReduce(group(), mean, {.scale = 1.0 / size()}).wait();
  return mean.to_device(data.device());
}

void Communicator::send_obj(std::string_view bytes, int dest, int tag) const {
  check_peer(*this, "send_obj", "dest", dest, tag);
  group().send(bytes, dest, tag);
}

std::string Communicator::recv_obj(int source, int tag) const {
  check_peer(*this, "recv_obj", "source", source, tag);
  return group().recv(source, tag);
}

std::string Communicator::bcast_obj(std::string_view bytes, int root) const {
  check_rank(*this, "bcast_obj", "root", root);
  return group().bcast({"bcast_obj"}, rank() == root ? bytes : std::string_view(), root);
}

std::vector<std::string> Communicator::gather_obj(std::string_view bytes, int root) const {
  check_rank(*this, "gather_obj", "root", root);
  return group().gather({"gather_obj"}, bytes, root);
}

std::vector<std::string> Communicator::allgather_obj(std::string_view bytes) const {
  return group().allgather({"allgather_obj"}, bytes);
}

std::string Communicator::scatter_obj(std::span<const std::string> xs, int root) const {
  check_rank(*this, "scatter_obj", "root", root);
  if (rank() == root) check_count(*this, "scatter_obj", xs.size());
  return group().scatter({"scatter_obj"}, xs, root);
}

std::vector<std::string> Communicator::alltoall_obj(std::span<const std::string> xs) const {
  check_count(*this, "alltoall_obj", xs.size());
  return group().alltoall({"alltoall_obj"}, xs);
}

std::string Communicator::allreduce_obj(
    std::string_view bytes, const Callable<std::string(const std::string&, const std::string&)>& combine) const {
  if (!combine) throw ValueError("Communicator::allreduce_obj: combine is empty: it must be callable");
  const std::vector<std::string> all = group().allgather({"allreduce_obj"}, bytes);
  std::string result = all[0];
  for (size_t i = 1; i < all.size(); ++i) result = combine(result, all[i]);
  return result;
}

NamedNumbers Communicator::allreduce_obj(const NamedNumbers& numbers) const {
  MessageWriter own;
  own.number(static_cast<int64_t>(numbers.size()));
  for (const auto& [key, value] : numbers) {
    own.text(key);
    own.real(value);
  }
  NamedNumbers sums;
  for (const std::string& message : group().allgather({"allreduce_obj"}, own.bytes())) {
    MessageReader reader("Communicator::allreduce_obj", message);
    for (int64_t n = reader.number(); n > 0; --n) {
      const std::string key = reader.text();
      sums[key] += reader.real();
    }
  }
  return sums;
}

double Communicator::allreduce_obj(double number) const { return allreduce_obj(NamedNumbers{{"", number}}).at(""); }

void Communicator::bcast_data(Link& model) const {
  if (size() == 1) return;
  kusari::detail::compare_models("Communicator::bcast_data", group(), model);
  for (const auto& [path, parameter] : model.namedparams()) {
    const bool is_given = is_root() && parameter->is_initialized();
    const std::string shared =
        group().bcast({"bcast_data", path}, is_given ? pack_array(parameter->array()) : std::string(), 0);
    if (is_root() || shared.empty()) continue;
    const Array data = unpack_array(shared);
    if (!parameter->is_initialized()) parameter->initialize(data.shape());
    parameter->array().copy_from(data);
  }
}

void Communicator::multi_node_mean_grad(Link& model, bool zero_fill) const {
  GradientExchange(state_->group, exchange_options(*this)).average(model, zero_fill);
}

void Communicator::barrier() const { group().barrier(); }

void Communicator::set_config(const std::string& entry, const std::string& value) {
  if (entry == "batched_copy") {
    environment::parse("Communicator::set_config: batched_copy", value, state_->options.batched_copy);
  } else if (entry == "allreduce_grad_dtype") {
    std::optional<Dtype> dtype;
    if (value != "none") dtype = dtype_from_name(value);
    state_->options.allreduce_grad_dtype =
        kusari::detail::checked_wire_dtype("Communicator::set_config", "allreduce_grad_dtype", dtype);
  } else {
    throw KeyError("Communicator::set_config: there is no '" + entry +
                   "': it must be allreduce_grad_dtype or batched_copy");
  }
}

std::string Communicator::get_config(const std::string& entry) const {
  if (entry == "batched_copy") return state_->options.batched_copy ? "true" : "false";
  if (entry == "allreduce_grad_dtype") {
    const std::optional<Dtype>& dtype = state_->options.allreduce_grad_dtype;
    return dtype ? kusari::name(*dtype) : "none";
  }
  throw KeyError("Communicator::get_config: there is no '" + entry +
                 "': it must be allreduce_grad_dtype or batched_copy");
}

void Communicator::finalize() { group().leave(); }

}  // namespace kusari::distributed
