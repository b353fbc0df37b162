#include "kusari/framework/inference/c_api.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/dlpack.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/thread_owned.h"
#include "kusari/framework/inference/loaders.h"

struct kusari_session {
  kusari::InferenceSession session;
};

namespace kusari::inference {

namespace {

/// What the functions have told a thread.
struct Texts {
  std::string error, description;
};
constinit thread_local Texts* t_texts = nullptr;

// Calls f; `failed` if that throws.
template <class Result, class F>
Result guarded(const char* call, Result failed, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& error) {
    kusari::detail::thread_owned(t_texts).error = std::string(call) + ": " + error.what();
  } catch (...) {
    kusari::detail::thread_owned(t_texts).error = std::string(call) + ": unknown error";
  }
  return failed;
}

void check_given(const void* pointer, const char* name) {
  if (pointer == nullptr) throw ValueError(std::string(name) + " is null");
}

std::optional<Dtype> dtype_of_name(const char* text) {
  if (text == nullptr) return std::nullopt;
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    if (std::string(name(dtype)) == text) return dtype;
  }
  throw ValueError("dtype is '" + std::string(text) + "', but must be float32, float16 or bfloat16");
}

// An array over elements that stay the caller's.
Array borrowed(const dlpack::ManagedTensor& tensor) {
  const auto release = [](dlpack::ManagedTensor* self) { delete self; };
  auto handle = std::make_unique<dlpack::ManagedTensor>(dlpack::ManagedTensor{tensor.dl_tensor, nullptr, release});
  Array array = from_dlpack(handle.get());
  (void)handle.release();  // the array deletes it
  return array;
}

}  // namespace

kusari_session* to_c_session(InferenceSession session) { return new kusari_session{std::move(session)}; }

}  // namespace kusari::inference

kusari_session* kusari_session_open(const char* path, const char* dtype) {
  return kusari::inference::guarded<kusari_session*>("kusari_session_open", nullptr, [&] {
    kusari::inference::check_given(path, "path");
    return kusari::inference::to_c_session(
        kusari::inference::open_session(path, {.dtype = kusari::inference::dtype_of_name(dtype)}));
  });
}

const char* kusari_session_describe(const kusari_session* session) {
  return kusari::inference::guarded<const char*>("kusari_session_describe", nullptr, [&] {
    kusari::inference::check_given(session, "session");
    std::string& text = kusari::detail::thread_owned(kusari::inference::t_texts).description;
    text = session->session.summary();
    return text.c_str();
  });
}

int kusari_session_run(const kusari_session* session, const struct DLManagedTensor* const* inputs, int count,
                       struct DLManagedTensor** results, int capacity) {
  return kusari::inference::guarded("kusari_session_run", -1, [&] {
    kusari::inference::check_given(session, "session");
    if (count > 0) kusari::inference::check_given(inputs, "inputs");
    if (capacity > 0) kusari::inference::check_given(results, "results");
    kusari::Arrays arrays;
    for (int i = 0; i < count; ++i) {
      kusari::inference::check_given(inputs[i], "an input");
      arrays.push_back(kusari::inference::borrowed(*reinterpret_cast<const kusari::dlpack::ManagedTensor*>(inputs[i])));
    }
    const kusari::Arrays computed = session->session.run(arrays);
    if (std::cmp_greater(computed.size(), capacity)) {
      throw kusari::ValueError("there are " + std::to_string(computed.size()) + " results, but room for " +
                               std::to_string(capacity));
    }
    size_t done = 0;
    try {
      for (; done < computed.size(); ++done) {
        results[done] = reinterpret_cast<DLManagedTensor*>(kusari::to_dlpack(computed[done]));
      }
    } catch (...) {
      while (done-- > 0) {
        auto* const made = reinterpret_cast<kusari::dlpack::ManagedTensor*>(results[done]);
        made->deleter(made);
      }
      throw;
    }
    return static_cast<int>(computed.size());
  });
}

void kusari_session_close(kusari_session* session) { delete session; }

const char* kusari_last_error(void) { return kusari::detail::thread_owned(kusari::inference::t_texts).error.c_str(); }
