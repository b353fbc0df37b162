#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"

namespace kusari {

namespace collectives {
class Group;
}

/// Ranks with a device of each, and what its library does among them with arrays in its memory (NCCL). All ranks call
/// the same in the same order. Nothing waits on the host: the work comes behind that of the current stream, and what is
/// given to the stream later behind it. Arrays are dense, of a dtype that has_dtype(); sums are added in the library's
/// own order. A thread that records a graph of the device records it, on all ranks or on none.
class KUSARI_API DeviceGroup {
 public:
  DeviceGroup() = default;
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;
  /// Gives up what is under way when an exception is on its way.
  virtual ~DeviceGroup();

  static bool has_dtype(Dtype dtype) noexcept;
  virtual const Device& device() const noexcept = 0;

  /// Replaces `data` by the sum over the ranks. It begins beside the current stream, which waits for it in join().
  virtual void start_all_reduce(const Array& data) = 0;
  virtual void join() = 0;

  virtual void all_reduce(const Array& data) = 0;
  /// The sum takes the place of the root's array; the others' are left as they are.
  virtual void reduce(const Array& data, int root) = 0;
  virtual void broadcast(const Array& data, int root) = 0;
  /// `all`: as many elements as `own` for each rank.
  virtual void all_gather(const Array& own, const Array& all) = 0;
  virtual void reduce_scatter(const Array& all, const Array& own) = 0;
  /// What is for each rank, and what comes from it; undefined arrays: nothing. Sender and receiver agree in bytes.
  virtual void exchange(std::span<const Array> sent, std::span<const Array> received) = 0;
  /// Throws RemoteError when the library has found something wrong since.
  virtual void check() = 0;
};

namespace kernels {

using DeviceGroupId = std::array<char, 128>;

/// Where `id` is filled for a new group, by one rank for all of them.
struct NewDeviceGroupId {
  static constexpr const char* kName = "new_device_group_id";
  using Signature = void(Params<DeviceGroupId*> id);
};
struct DeviceGroupRequest {
  const Device* device;
  const DeviceGroupId* id;
  int rank, size;
  std::unique_ptr<DeviceGroup>* group;  ///< the result
};
/// Waits for the other ranks. A backend without a library for it has neither kernel, and where the library is not
/// installed both throw DeviceError.
struct MakeDeviceGroup {
  static constexpr const char* kName = "make_device_group";
  using Signature = void(Params<DeviceGroupRequest> request);
};

}  // namespace kernels

/// The DeviceGroup of a group whose ranks each have a device of their own, made when it is first asked for.
class KUSARI_API DeviceGroups {
 public:
  /// `must_have`: where there can be none for devices other than the CPU, DeviceError says why; otherwise it is null.
  explicit DeviceGroups(collectives::Group& group, bool must_have) : group_{group}, must_have_{must_have} {}

  /// Null for the CPU, which costs nothing. `device`: the same kind of device on all ranks. Collective.
  DeviceGroup* of(const Device& device);
  /// What of() has made; null: nothing, or not yet. The same on all ranks.
  DeviceGroup* made() const noexcept { return made_.get(); }

 private:
  void make(const Device& device);

  collectives::Group& group_;
  bool must_have_;
  bool is_made_ = false;
  std::string problem_;  // why there is none
  std::unique_ptr<DeviceGroup> made_;
};

}  // namespace kusari
