#pragma once

// Inference for programs in C, and for all languages that call it. Arrays are DLPack's (github.com/dmlc/dlpack):
// include dlpack.h of any version 0.x beside this.
//
// Any number of threads may call kusari_session_run with one session at the same time.

#ifdef __cplusplus
extern "C" {
#endif

#define KUSARI_C_API __attribute__((visibility("default")))

struct DLManagedTensor;
typedef struct kusari_session kusari_session;

/// A session of the model in a file, by a loader that a library has registered for the end of its name
/// (kusari::inference::register_loader). dtype: "float32", "float16" or "bfloat16", in which it computes; null: as the
/// model is. Null when it fails: see kusari_last_error.
KUSARI_C_API kusari_session* kusari_session_open(const char* path, const char* dtype);

/// What InferenceSession::summary says, for the calling thread until its next call of this function. Null when it
/// fails.
KUSARI_C_API const char* kusari_session_describe(const kusari_session* session);

/// Computes the results of a call. The inputs stay the caller's, who may not change them meanwhile. The results become
/// the caller's, who calls deleter(result) for each; `results` has room for `capacity` of them. Returns how many there
/// are, or -1 when it fails, also when there are more than `capacity`.
KUSARI_C_API int kusari_session_run(const kusari_session* session, const struct DLManagedTensor* const* inputs,
                                    int count, struct DLManagedTensor** results, int capacity);

/// Frees a session, in which no call may be. Null is ignored.
KUSARI_C_API void kusari_session_close(kusari_session* session);

/// What the last of these functions that failed in this thread said. Valid until the next one fails.
KUSARI_C_API const char* kusari_last_error(void);

#ifdef __cplusplus
}

#include "kusari/framework/core/export.h"
#include "kusari/framework/inference/inference_session.h"

namespace kusari::inference {
/// A session for kusari_session_run, made by a program in C++.
KUSARI_API kusari_session* to_c_session(InferenceSession session);
}  // namespace kusari::inference
#endif
