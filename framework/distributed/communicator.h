#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/remote_error.h"
#include "kusari/framework/core/shared.h"
#include "kusari/iterators/shard.h"

namespace kusari {

class DeviceGroup;
class DeviceGroups;
class Link;
namespace collectives {
class Group;
}

namespace distributed {

/// Numbers under names, such as what an evaluator reports.
using NamedNumbers = std::map<std::string, double>;

struct CommunicatorOptions {
  /// The dtype in which gradients travel: a floating one. Not given: each gradient's own. Sums of 16-bit gradients are
  /// float32 either way.
  std::optional<Dtype> allreduce_grad_dtype = std::nullopt;
  /// Chainer's: packs the gradients by one call. They always are; what it is set to can be asked for.
  bool batched_copy = true;
};

/// The processes (ranks) of a run that was started by mpirun or srun; in a program that was started by itself, this one
/// alone. Copies are handles of one group. The ranks of a group call its collective methods in the same order, and wait
/// there for each other; a call that another rank has answered by another one throws StateError with both.
///
/// Arrays travel with their shape and dtype, so who receives needs to know neither; they arrive in C order on the
/// device of the receiver's own argument, else on the CPU. Sums are added in a fixed order: they are the same bits on
/// all ranks and in each run. 16-bit numbers are summed in float32.
///
/// Each method throws RemoteError when another rank has failed or left, or does not come within the timeout
/// (KUSARI_DISTRIBUTED_TIMEOUT); ValueError naming itself for a rank or root that the group does not have.
/// Used by one thread at a time. chainermn.CommunicatorBase.
class KUSARI_API Communicator {
 public:
  /// Of this process alone.
  Communicator();
  explicit Communicator(std::shared_ptr<collectives::Group> group, std::string name = "naive",
                        const CommunicatorOptions& options = {});

  int rank() const noexcept;
  int size() const noexcept;
  /// Among the ranks of this rank's machine, which picks the GPU: `cuda:` + intra_rank.
  int intra_rank() const noexcept;
  int intra_size() const noexcept;
  /// Number of this rank's machine, and how many there are.
  int inter_rank() const noexcept;
  int inter_size() const noexcept;
  bool is_root() const noexcept { return rank() == 0; }
  /// What iterators take so that each rank gets its part of the batches.
  iterators::Shard shard() const noexcept { return {rank(), size()}; }
  /// "naive", as it was created.
  const std::string& name() const noexcept;
  /// The group of the ranks that give the same color, ordered by key, then by rank. Collective. Throws ValueError for a
  /// negative color.
  Communicator split(int color, int key) const;
  /// Another handle of the same ranks, whose messages do not meet this one's. Collective.
  Communicator duplicate() const;

  // --- arrays ---

  /// Gives the array to rank `dest`, which must call recv(). 0 <= tag < 32768. Returns when the memory may be changed;
  /// not before the other side has begun to receive, for large arrays.
  void send(const Array& data, int dest, int tag = 0) const;
  Array recv(int source, int tag = 0) const;
  /// The root's array, on all ranks. What the others give may be undefined; if not, its device is where the result
  /// goes.
  Array bcast(const Array& data, int root = 0) const;
  /// The arrays of all ranks, in their order, on the root; no arrays elsewhere. Shapes and dtypes may differ.
  std::vector<Array> gather(const Array& data, int root = 0) const;
  std::vector<Array> allgather(const Array& data) const;
  /// The root's `xs[rank]`. `xs`: `size()` arrays on the root, ignored elsewhere.
  Array scatter(std::span<const Array> xs, int root = 0) const;
  /// `xs[i]` goes to rank i, of `size()` arrays; gives those of all ranks for this one.
  std::vector<Array> alltoall(std::span<const Array> xs) const;
  /// The elementwise sum over the ranks: on all of them, or on the root alone (undefined elsewhere). Numbers of any
  /// dtype but bool; integers wrap. Throws TypeError naming a rank whose shape or dtype is another one.
  Array allreduce(const Array& data) const;
  Array reduce(const Array& data, int root = 0) const;
  /// Element i of `xs` of all ranks, summed, on rank i.
  Array reduce_scatter(std::span<const Array> xs) const;
  /// Sums divided by size().
  Array multi_node_mean(const Array& data) const;

  // --- objects: strings of bytes ---

  void send_obj(std::string_view bytes, int dest, int tag = 0) const;
  std::string recv_obj(int source, int tag = 0) const;
  std::string bcast_obj(std::string_view bytes, int root = 0) const;
  std::vector<std::string> gather_obj(std::string_view bytes, int root = 0) const;
  std::vector<std::string> allgather_obj(std::string_view bytes) const;
  std::string scatter_obj(std::span<const std::string> xs, int root = 0) const;
  std::vector<std::string> alltoall_obj(std::span<const std::string> xs) const;
  /// `combine` over the ranks' objects from rank 0 on: combine(combine(x0, x1), x2). The same on all ranks.
  std::string allreduce_obj(std::string_view bytes,
                            const Callable<std::string(const std::string&, const std::string&)>& combine) const;
  /// Sums under each name; one that a rank lacks counts as 0 there.
  NamedNumbers allreduce_obj(const NamedNumbers& numbers) const;
  double allreduce_obj(double number) const;

  /// Returns once all ranks have called it.
  void barrier() const;

  // --- models ---

  /// Gives all ranks the root's parameters: values alone, as they are (no rounding). Throws StateError when the ranks'
  /// models differ, naming the first parameter that does. A parameter that waits for its shape takes the root's; one of
  /// which the root does not know the shape is left alone.
  void bcast_data(Link& model) const;
  void broadcast_data(Link& model) const { bcast_data(model); }
  /// Replaces each gradient by its mean over the ranks. A parameter without gradient on all ranks is left without; with
  /// `zero_fill`, or where another rank has one, it counts as zeros.
  void multi_node_mean_grad(Link& model, bool zero_fill = false) const;
  void allreduce_grad(Link& model, bool zero_fill = false) const { multi_node_mean_grad(model, zero_fill); }

  // --- settings ---

  /// "allreduce_grad_dtype" ("float16", "none") or "batched_copy" ("true", "false"). Throws KeyError for another name.
  void set_config(const std::string& name, const std::string& value);
  std::string get_config(const std::string& name) const;
  const CommunicatorOptions& options() const noexcept;

  /// Leaves the group: what other ranks ask of this one afterwards is a RemoteError there. The last handle's end does
  /// it too. Later calls throw StateError.
  void finalize();

  /// The ranks and how bytes travel among them.
  collectives::Group& group() const;
  std::shared_ptr<collectives::Group> shared_group() const;
  /// What arrays on GPUs travel by; null where they travel through the host.
  std::shared_ptr<DeviceGroups> shared_device_groups() const;

 private:
  DeviceGroup* devices() const;
  DeviceGroup* check_alike(const char* operation, const char* method, std::span<const Array> arrays) const;

  struct State;
  Shared<State> state_;
};

/// `name`: "auto" or one of Chainer's. On the CPU all of them give the same results by MPI; "naive" exchanges each
/// gradient by itself, "flat" all gradients of one dtype at once, the others by buckets of some MiB. With "auto" and
/// "pure_nccl" arrays on GPUs, one for each rank, travel by NCCL, and with the others through the host; where NCCL
/// cannot be used, "auto" does so, too, and "pure_nccl" throws DeviceError. "dummy" does everything but exchange
/// gradients. Loads MPI, if a launcher started this program. Throws ValueError for another name, DeviceError when a
/// launcher started several processes and MPI is not there, StateError when MPI does not see the launcher's processes.
KUSARI_API Communicator create_communicator(const std::string& name = "auto", const CommunicatorOptions& options = {});

/// The rank that the launcher gave this process, and of how many, read from the environment: MPI is not loaded. For
/// what must be done before a communicator is made, such as making iterators with processes.
KUSARI_API int launch_rank();
KUSARI_API int launch_size();

}  // namespace distributed
}  // namespace kusari
