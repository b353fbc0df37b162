#pragma once

#include <cuda_runtime_api.h>

#include <functional>

// Stream capture: what is given to a captured stream is kept in a graph, and what the CUDA runtime forbids meanwhile
// fails and spoils the capture. One stream for each capture: others are not drawn in by events.
namespace kusari::cuda::emulated {

bool is_captured(cudaStream_t stream);
/// Adds to the graph of a captured stream.
cudaError_t capture(cudaStream_t stream, std::function<void()> work);
/// The capture of the stream as a number; 0 for none.
unsigned long long capture_of(cudaStream_t stream);
/// Spoils the stream's capture, if there is one, and then gives `status`; otherwise cudaSuccess.
cudaError_t break_capture(cudaStream_t stream, cudaError_t status);
/// The same for all streams of a device.
cudaError_t break_captures(int device, cudaError_t status);
/// For calls that a thread may not make while it captures, unless it has asked for cudaStreamCaptureModeRelaxed.
cudaError_t unsafe_call();

}  // namespace kusari::cuda::emulated
