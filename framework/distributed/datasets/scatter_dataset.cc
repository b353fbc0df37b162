#include "kusari/framework/distributed/datasets/scatter_dataset.h"

#include <memory>
#include <numeric>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/sub_dataset.h"
#include "kusari/framework/distributed/byte_messages.h"

namespace kusari::distributed {
namespace {

using Part = std::pair<int64_t, int64_t>;

void expect_root(const char* call, const Communicator& comm, int root) {
  if (root >= 0 && root < comm.size()) return;
  throw ValueError(std::string(call) + ": root is " + std::to_string(root) + ": it must be in [0, " +
                   std::to_string(comm.size()) + "), the ranks of the communicator");
}

Part part_of(int64_t n, int64_t rank, int64_t size, bool force_equal_length) {
  if (force_equal_length) {
    const int64_t begin = n / size * rank + n % size * rank / size;  // n rank / size without its overflow
    return {begin, begin + n / size + (n % size != 0 ? 1 : 0)};
  }
  const int64_t few = n / size, more = n % size;
  const int64_t begin = few * rank + std::min(rank, more);
  return {begin, begin + few + (rank < more ? 1 : 0)};
}

std::string packed(const datasets::Dataset& dataset, const std::vector<int64_t>& order, const Part& part) {
  MessageWriter writer;
  writer.number(static_cast<int64_t>(dataset.keys().size()));
  for (const std::string& key : dataset.keys()) writer.text(key);
  writer.number(part.second - part.first);
  for (int64_t i = part.first; i < part.second; ++i) writer.example(dataset.get(order[static_cast<size_t>(i)]));
  return writer.bytes();
}

}  // namespace

int64_t ScatteredDataset::size() const { return part_ ? (*part_)->size() : static_cast<int64_t>(examples_->size()); }

datasets::Example ScatteredDataset::get(int64_t i) const {
  check_index("ScatteredDataset::get", i, size());
  return part_ ? (*part_)->get(i) : (*examples_)[static_cast<size_t>(i)];
}

ScatteredDataset scatter_dataset(const std::optional<datasets::DatasetRef>& dataset, const Communicator& comm,
                                 const ScatterDatasetOptions& options) {
  constexpr const char* kCall = "scatter_dataset";
  expect_root(kCall, comm, options.root);
  // All ranks draw, so that their random streams stay alike.
  const uint64_t seed = options.seed ? *options.seed : (options.shuffle ? random::bits() : 0);
  if (comm.rank() == options.root) {
    if (!dataset) throw TypeError("scatter_dataset: dataset is not given: it is required on the root");
    const datasets::Dataset& whole = **dataset;
    const int64_t n = whole.size();
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    if (options.shuffle) order = random::permutation(n, seed);
    std::vector<std::string> parts(static_cast<size_t>(comm.size()));
    for (int rank = 0; rank < comm.size(); ++rank) {
      if (rank == comm.rank()) continue;
      parts[static_cast<size_t>(rank)] =
          packed(whole, order, part_of(n, rank, comm.size(), options.force_equal_length));
    }
    comm.scatter_obj(parts, options.root);
    const Part own = part_of(n, comm.rank(), comm.size(), options.force_equal_length);
    ScatteredDataset mine(whole.keys());
    mine.part_ = datasets::DatasetRef(datasets::SubDataset(*dataset, own.first, own.second, std::move(order)));
    return mine;
  }
  const std::string bytes = comm.scatter_obj({}, options.root);
  MessageReader reader(kCall, bytes);
  datasets::Keys keys;
  for (int64_t left = reader.number(); left > 0; --left) keys.push_back(reader.text());
  auto examples = std::make_shared<std::vector<datasets::Example>>();
  for (int64_t left = reader.number(); left > 0; --left) examples->push_back(reader.example());
  ScatteredDataset mine(std::move(keys));
  mine.examples_ = std::move(examples);
  return mine;
}

Part scatter_index(int64_t n_total_samples, const Communicator& comm, int root, bool force_equal_length) {
  constexpr const char* kCall = "scatter_index";
  expect_root(kCall, comm, root);
  std::string message;
  if (comm.rank() == root) {
    MessageWriter writer;
    writer.number(argument::not_negative(kCall, "n_total_samples", n_total_samples));
    message = writer.bytes();
  }
  const std::string bytes = comm.bcast_obj(message, root);
  return part_of(MessageReader(kCall, bytes).number(), comm.rank(), comm.size(), force_equal_length);
}

int64_t get_n_iterations_for_one_epoch(const datasets::Dataset& dataset, int64_t local_batch_size,
                                       const Communicator& comm) {
  constexpr const char* kCall = "get_n_iterations_for_one_epoch";
  argument::positive(kCall, "local_batch_size", local_batch_size);
  MessageWriter writer;
  const int64_t n = dataset.size();
  writer.number(n / local_batch_size + (n % local_batch_size != 0 ? 1 : 0));
  const std::string bytes = comm.bcast_obj(writer.bytes(), 0);
  return MessageReader(kCall, bytes).number();
}

training::TriggerRef get_epoch_trigger(int64_t n_epochs, const datasets::Dataset& dataset, int64_t local_batch_size,
                                       const Communicator& comm) {
  return {n_epochs * get_n_iterations_for_one_epoch(dataset, local_batch_size, comm), "iteration"};
}

}  // namespace kusari::distributed
