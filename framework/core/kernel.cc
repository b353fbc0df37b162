#include "kusari/framework/core/kernel.h"

#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/kernel_table.h"

namespace kusari {

constinit thread_local LaunchObserver* detail::t_launch_observer = nullptr;

LaunchObserver::LaunchObserver() = default;
LaunchObserver::~LaunchObserver() = default;

ScopedLaunchObserver::ScopedLaunchObserver(LaunchObserver& observer) : observer_{&observer} {
  observer.previous_ = std::exchange(detail::t_launch_observer, &observer);
}

ScopedLaunchObserver::~ScopedLaunchObserver() { detail::t_launch_observer = observer_->previous_; }

void observe_launch(const Launch& launch) {
  LaunchObserver* const observer = detail::t_launch_observer;
  if (observer == nullptr) {
    launch.run(launch.kernel, launch.arguments.data());
    return;
  }
  // While an observer works, launches go to the ones installed before it; inside the kernel there are none, so only
  // the outermost launch is seen.
  struct Restore {
    LaunchObserver* observer;
    ~Restore() { detail::t_launch_observer = observer; }
  } const restore{observer};
  detail::t_launch_observer = observer->previous_;
  observer->on_launch(launch, &observe_launch);
}

void detail::throw_missing_kernel(const char* kernel, const Device& device) {
  const bool is_elsewhere = !device.is_cpu() && has_kernel(detail::cpu_backend(), kernel);
  throw DeviceError(std::string("launch: the backend '") + device.backend().name() + "' of device '" + device.name() +
                    "' has no kernel '" + kernel + "'" +
                    (is_elsewhere
                         ? "; the CPU has it: call the function with arrays that to_device(Device()) has moved "
                           "there, and move the result back"
                         : ""));
}

void detail::throw_unusable(const char* kernel, const Device& device, const Array& array) {
  if (array.storage().stale != nullptr) throw_stale(std::string("launch of kernel '") + kernel + "'", array);
  throw DeviceError(std::string("launch: kernel '") + kernel + "' of device '" + device.name() +
                    "' was given an array of shape " + to_string(array.shape()) + " on '" + array.device().name() +
                    "'");
}

}  // namespace kusari
