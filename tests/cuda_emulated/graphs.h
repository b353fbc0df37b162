#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

// Stream capture: what is given to a captured stream is kept in a graph, and what the CUDA runtime forbids meanwhile
// fails and spoils the capture. Streams that wait for an event of a captured one are captured with it, and have to be
// waited for before the capture ends.
namespace kusari::cuda::emulated {

bool is_captured(cudaStream_t stream);
/// Adds to the graph of a captured stream, behind what is there of the stream's.
cudaError_t capture(cudaStream_t stream, std::function<void()> work);
/// The capture of the stream as a number; 0 for none.
unsigned long long capture_of(cudaStream_t stream);
/// What an event of a captured stream stands for: the last pieces of work of the stream's part of the graph.
std::vector<size_t> capture_place(cudaStream_t stream);
/// Later work of the stream comes behind such pieces; a stream that is not captured is from now on.
cudaError_t join_capture(cudaStream_t stream, unsigned long long id, const std::vector<size_t>& place);
/// Spoils the stream's capture, if there is one, and then gives `status`; otherwise cudaSuccess.
cudaError_t break_capture(cudaStream_t stream, cudaError_t status);
/// The same for all streams of a device.
cudaError_t break_captures(int device, cudaError_t status);
/// For calls that a thread may not make while it captures, unless it has asked for cudaStreamCaptureModeRelaxed.
cudaError_t unsafe_call();

}  // namespace kusari::cuda::emulated
