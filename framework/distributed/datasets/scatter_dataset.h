#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/training/trigger.h"

namespace kusari::distributed {

/// Options of scatter_dataset.
struct ScatterDatasetOptions {
  int root = 0;          ///< the rank whose data set is given away
  bool shuffle = false;  ///< in a random order
  std::optional<uint64_t> seed =
      std::nullopt;                ///< that determines the order; else the random stream, of which all ranks draw
  bool force_equal_length = true;  ///< see scatter_index
};

/// A rank's examples of a data set that one of the ranks has. They stay in memory; those of the root stay in its data
/// set, which must live as long if it was given by lvalue.
class KUSARI_API ScatteredDataset final : public datasets::Dataset {
 public:
  int64_t size() const override;
  datasets::Example get(int64_t i) const override;
  datasets::Keys keys() const override { return keys_; }

 private:
  friend KUSARI_API ScatteredDataset scatter_dataset(const std::optional<datasets::DatasetRef>& dataset,
                                                     const Communicator& comm, const ScatterDatasetOptions& options);
  using Examples = std::vector<datasets::Example>;
  explicit ScatteredDataset(datasets::Keys keys) : keys_{std::move(keys)} {}

  datasets::Keys keys_;
  Shared<const Examples> examples_;
  std::optional<datasets::DatasetRef> part_;  // on the root, instead of examples_
};

/// Gives each rank its part of the root's data set: examples begin .. end-1 of scatter_index, of the data set's order
/// or a random one. `dataset`: of the root; what others give is ignored: `std::nullopt`. Where all ranks can read the
/// data, `SubDataset(dataset, begin, end, order)` with scatter_index, or an iterator's `.shard`, sends nothing.
/// Each example belongs to one rank for the whole run, as in Chainer; the parts that an iterator's `.shard` gives
/// change with each sweep. In Chainer all ranks get the whole data set and look at their part of it. Collective. Throws
/// ValueError for a root that is no rank, TypeError on the root without a data set, RemoteError as Communicator does.
/// chainermn.scatter_dataset.
KUSARI_API ScatteredDataset scatter_dataset(const std::optional<datasets::DatasetRef>& dataset,
                                            const Communicator& comm, const ScatterDatasetOptions& options = {});

/// Begin and end of this rank's part of n examples, n = `n_total_samples` of the root. With `force_equal_length` rank r
/// of N has the examples from floor(n r / N) on, ceil(n / N) of them: the last ones of some ranks are the first of
/// their neighbours'. Without, each example is one rank's, and the first n mod N ranks have one more. Collective.
/// Throws ValueError for a root that is no rank and a negative n. chainermn.scatter_index.
KUSARI_API std::pair<int64_t, int64_t> scatter_index(int64_t n_total_samples, const Communicator& comm, int root = 0,
                                                     bool force_equal_length = true);

/// Batches of one sweep over rank 0's data set, on all ranks: an iterator's epochs and triggers of epochs do that
/// better. Collective. chainermn.datasets.get_n_iterations_for_one_epoch.
KUSARI_API int64_t get_n_iterations_for_one_epoch(const datasets::Dataset& dataset, int64_t local_batch_size,
                                                  const Communicator& comm);
/// A trigger of that many iterations for n epochs. Collective. chainermn.datasets.get_epoch_trigger.
KUSARI_API training::TriggerRef get_epoch_trigger(int64_t n_epochs, const datasets::Dataset& dataset,
                                                  int64_t local_batch_size, const Communicator& comm);

}  // namespace kusari::distributed
