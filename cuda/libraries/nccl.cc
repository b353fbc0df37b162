#include "kusari/cuda/libraries/nccl.h"

#include <dlfcn.h>
#include <nccl.h>

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>

#include "kusari/cuda/runtime/context.h"
#include "kusari/cuda/runtime/handle.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/remote_error.h"
#include "kusari/framework/kernels/device_group.h"

// Exchanges between GPUs. libnccl.so.2 is found by name when the first group is made: nothing else needs it.
namespace kusari::cuda {
namespace {

struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRank) comm_init_rank;
  decltype(&ncclCommDestroy) comm_destroy;
  decltype(&ncclCommAbort) comm_abort;
  decltype(&ncclCommGetAsyncError) comm_get_async_error;
  decltype(&ncclGetErrorString) get_error_string;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclReduce) reduce;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;

  static const Nccl& get() {
    static const Nccl library;
    return library;
  }

 private:
  Nccl() {
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const reason = dlerror();
      throw DeviceError(std::string("NCCL cannot be loaded: ") + (reason != nullptr ? reason : "it was not found"));
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) throw DeviceError(std::string("NCCL cannot be used: it has no ") + name);
    };
    find(get_unique_id, "ncclGetUniqueId");
    find(comm_init_rank, "ncclCommInitRank");
    find(comm_destroy, "ncclCommDestroy");
    find(comm_abort, "ncclCommAbort");
    find(comm_get_async_error, "ncclCommGetAsyncError");
    find(get_error_string, "ncclGetErrorString");
    find(all_reduce, "ncclAllReduce");
    find(reduce, "ncclReduce");
    find(broadcast, "ncclBroadcast");
    find(all_gather, "ncclAllGather");
    find(reduce_scatter, "ncclReduceScatter");
    find(send, "ncclSend");
    find(recv, "ncclRecv");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
  }
};

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  throw DeviceError(std::string(call) + " failed: " + Nccl::get().get_error_string(result));
}
#define KUSARI_NCCL(function, ...) check_nccl(Nccl::get().function(__VA_ARGS__), "nccl " #function)

ncclDataType_t type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::int8:
      return ncclInt8;
    case Dtype::uint8:
      return ncclUint8;
    case Dtype::int32:
      return ncclInt32;
    case Dtype::int64:
      return ncclInt64;
    case Dtype::float16:
      return ncclFloat16;
    case Dtype::bfloat16:
      return ncclBfloat16;
    case Dtype::float32:
      return ncclFloat32;
    case Dtype::float64:
      return ncclFloat64;
    default:
      throw TypeError(std::string("NCCL has no dtype ") + name(dtype));
  }
}

size_t count_of(const Array& array) { return static_cast<size_t>(array.size()); }

class NcclGroup final : public DeviceGroup {
 public:
  NcclGroup(const Device& device, const ncclUniqueId& id, int rank, int size)
      : device_{device}, context_{Context::of(device)} {
    KUSARI_NCCL(comm_init_rank, &comm_, size, id, rank);
  }
  ~NcclGroup() override {
    if (std::uncaught_exceptions() > 0) {
      Nccl::get().comm_abort(comm_);
    } else {
      Nccl::get().comm_destroy(comm_);
    }
  }

  const Device& device() const noexcept override { return device_; }

  void start_all_reduce(const Array& data) override {
    begin();
    KUSARI_NCCL(all_reduce, data.raw_data(), data.raw_data(), count_of(data), type_of(data.dtype()), ncclSum, comm_,
                stream_.get());
  }
  void join() override { context_.order(stream_.get(), context_.stream()); }

  void all_reduce(const Array& data) override {
    start_all_reduce(data);
    join();
  }
  void reduce(const Array& data, int root) override {
    begin();
    KUSARI_NCCL(reduce, data.raw_data(), data.raw_data(), count_of(data), type_of(data.dtype()), ncclSum, root, comm_,
                stream_.get());
    join();
  }
  void broadcast(const Array& data, int root) override {
    begin();
    KUSARI_NCCL(broadcast, data.raw_data(), data.raw_data(), bytes_of(data), ncclUint8, root, comm_, stream_.get());
    join();
  }
  void all_gather(const Array& own, const Array& all) override {
    begin();
    KUSARI_NCCL(all_gather, own.raw_data(), all.raw_data(), bytes_of(own), ncclUint8, comm_, stream_.get());
    join();
  }
  void reduce_scatter(const Array& all, const Array& own) override {
    begin();
    KUSARI_NCCL(reduce_scatter, all.raw_data(), own.raw_data(), count_of(own), type_of(own.dtype()), ncclSum, comm_,
                stream_.get());
    join();
  }
  void exchange(std::span<const Array> sent, std::span<const Array> received) override {
    begin();
    KUSARI_NCCL(group_start);
    for (size_t rank = 0; rank < sent.size(); ++rank) {
      if (!sent[rank].is_defined()) continue;
      KUSARI_NCCL(send, sent[rank].raw_data(), bytes_of(sent[rank]), ncclUint8, static_cast<int>(rank), comm_,
                  stream_.get());
    }
    for (size_t rank = 0; rank < received.size(); ++rank) {
      if (!received[rank].is_defined()) continue;
      KUSARI_NCCL(recv, received[rank].raw_data(), bytes_of(received[rank]), ncclUint8, static_cast<int>(rank), comm_,
                  stream_.get());
    }
    KUSARI_NCCL(group_end);
    join();
  }

  void check() override {
    ncclResult_t found = ncclSuccess;
    KUSARI_NCCL(comm_get_async_error, comm_, &found);
    if (found == ncclSuccess || found == ncclInProgress) return;
    throw RemoteError(std::string("NCCL, on ") + device_.name() + ": " + Nccl::get().get_error_string(found));
  }

 private:
  static size_t bytes_of(const Array& array) { return static_cast<size_t>(array.nbytes()); }
  // Arrays are given back to the pool behind a join, so that it knows of their use.
  void begin() { Context::of(device_).order(context_.stream(), stream_.get()); }

  Device device_;
  Context& context_;
  Stream stream_;
  ncclComm_t comm_ = nullptr;
};

void new_device_group_id(Params<kernels::DeviceGroupId*> id) {
  static_assert(sizeof(ncclUniqueId) == sizeof(kernels::DeviceGroupId));
  KUSARI_NCCL(get_unique_id, reinterpret_cast<ncclUniqueId*>((*id)->data()));
}

void make_device_group(Params<kernels::DeviceGroupRequest> request) {
  ncclUniqueId id;
  std::memcpy(&id, request->id->data(), sizeof(id));
  *request->group = std::make_unique<NcclGroup>(*request->device, id, request->rank, request->size);
}

}  // namespace

void register_nccl(Backend& backend) {
  backend.add<kernels::NewDeviceGroupId>(new_device_group_id);
  backend.add<kernels::MakeDeviceGroup>(make_device_group);
}

}  // namespace kusari::cuda
