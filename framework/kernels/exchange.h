#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"

namespace kusari {

class Backend;

/// What a recorded step does with other processes at its places among the kernels. `bucket`: which of the arrays that
/// travel; calls for one come in the order start, finish, at every replay.
class KUSARI_API RecordedExchange {
 public:
  RecordedExchange() = default;
  RecordedExchange(const RecordedExchange&) = delete;
  RecordedExchange& operator=(const RecordedExchange&) = delete;
  virtual ~RecordedExchange();

  virtual void start(int64_t bucket, const Array& data) = 0;
  /// Moves on what was started; waits for nothing.
  virtual void look() = 0;
  virtual void finish(int64_t bucket, const Array& data) = 0;
};

namespace kernels {

/// Who is asked. A recording that has such a kernel keeps the exchange alive.
struct ExchangePlace {
  RecordedExchange* exchange;
  int64_t bucket;
};

/// `data`, dense, begins its way to the other ranks, and must be left alone until FinishExchange, which leaves in it
/// what has come of all ranks'. They run on the host: no graph of a device has them in it.
struct StartExchange {
  static constexpr const char* kName = "start_exchange";
  using Signature = void(Params<ExchangePlace> place, InOut data);
};
struct FinishExchange {
  static constexpr const char* kName = "finish_exchange";
  using Signature = void(Params<ExchangePlace> place, InOut data);
};
/// The same among devices: a graph of the device has them in it.
struct StartDeviceExchange {
  static constexpr const char* kName = "start_device_exchange";
  using Signature = void(Params<ExchangePlace> place, InOut data);
};
struct FinishDeviceExchange {
  static constexpr const char* kName = "finish_device_exchange";
  using Signature = void(Params<ExchangePlace> place, InOut data);
};
/// Between the two, for exchanges that move on only when they are asked to.
struct LookAtExchange {
  static constexpr const char* kName = "look_at_exchange";
  using Signature = void(Params<ExchangePlace> place);
};

}  // namespace kernels

/// Enters them: they are the same for every device.
KUSARI_API void register_exchange(Backend& backend);

}  // namespace kusari
