// Streams and events. Enqueued work runs at once, so they track only order, time, and captures.

#include "driver.h"

namespace tritonc::emulator::driver {

namespace {

Result create(Context &context, Stream **stream, unsigned flags, int priority) {
  if (!stream || (flags & ~unsigned(stream_non_blocking)))
    return invalid_value;
  *stream = driver().streams.add(
      std::make_unique<Stream>(Stream{&context, flags, priority, ++driver().last_id, nullptr}));
  return success;
}

/// Calls `ask` with the stream of the handle.
template <typename Ask> Result about(std::string_view function, Stream *handle, Ask ask) {
  return call(function, Needs::device, [&](Context &context) -> Result {
    Stream *stream = nullptr;
    if (Result refused = find_stream(handle, context, stream))
      return refused;
    return ask(*stream);
  });
}

/// The same with the stream's own context; only default streams use the current context.
template <typename Ask> Result about_alone(std::string_view function, Stream *handle, Ask ask) {
  if (is_default(handle))
    return about(function, handle, ask);
  return call(function, Needs::driver, [&]() -> Result {
    Stream *stream = nullptr;
    Context none; // find_stream uses the context only for default streams
    if (Result refused = find_stream(handle, none, stream))
      return refused;
    if (Result fault = driver().device_of(*stream->context).fault)
      return fault;
    return ask(*stream);
  });
}

/// Refuses to wait for an event that was recorded in a capture.
Result refuse_captured(const Event &event) {
  return event.capture ? refuse_captured_event(event) : refuse_during_capture();
}

template <typename Ask> Result about(std::string_view function, Event *event, Ask ask) {
  return call(function, Needs::device, [&](Context &) -> Result {
    if (!driver().events.has(event))
      return invalid_handle;
    return ask(*event);
  });
}

Result record_in(std::string_view function, Event *event, Stream *handle) {
  return about(function, event, [&](Event &known) -> Result {
    Stream *stream = nullptr;
    if (Result refused = find_stream(handle, *current_context(), stream))
      return refused;
    if (stream->context->device != known.context->device)
      return invalid_handle;
    if (stream == &stream->context->default_stream) {
      if (Result refused = refuse_on_legacy_stream(*stream->context))
        return refused;
    }
    record(known, *stream);
    return success;
  });
}

Result elapsed(float *milliseconds, Event *first, Event *last) {
  return about("cuEventElapsedTime", first, [&](Event &begin) -> Result {
    if (!milliseconds)
      return invalid_value;
    if (!driver().events.has(last))
      return invalid_handle;
    bool are_timed = !((begin.flags | last->flags) & event_disable_timing);
    if (!are_timed || !begin.is_recorded || !last->is_recorded)
      return invalid_handle;
    *milliseconds = std::chrono::duration<float, std::milli>(last->when - begin.when).count();
    return success;
  });
}

} // namespace

extern "C" {

Result cuStreamCreate(Stream **stream, unsigned flags) {
  return call("cuStreamCreate", Needs::device,
              [&](Context &context) { return create(context, stream, flags, 0); });
}

Result cuStreamCreateWithPriority(Stream **stream, unsigned flags, int priority) {
  return call("cuStreamCreateWithPriority", Needs::device,
              [&](Context &context) { return create(context, stream, flags, priority); });
}

Result cuStreamDestroy_v2(Stream *stream) {
  return call("cuStreamDestroy", Needs::driver, [&]() -> Result {
    if (is_default(stream) || !driver().streams.has(stream))
      return invalid_handle;
    if (stream->capture)
      return refuse_if_capturing(*stream);
    Result fault = driver().device_of(*stream->context).fault;
    driver().streams.remove(stream);
    return fault;
  });
}

Result cuStreamQuery(Stream *handle) {
  return about("cuStreamQuery", handle, [](Stream &stream) -> Result {
    if (Result refused = refuse_if_capturing(stream))
      return refused;
    return refuse_during_capture();
  });
}

Result cuStreamSynchronize(Stream *handle) {
  return about_alone("cuStreamSynchronize", handle, [](Stream &stream) -> Result {
    if (&stream == &stream.context->default_stream) {
      if (Result refused = refuse_on_legacy_stream(*stream.context))
        return refused;
    }
    if (Result refused = refuse_if_capturing(stream))
      return refused;
    return refuse_during_capture();
  });
}

Result cuStreamWaitEvent(Stream *handle, Event *event, unsigned) {
  return about("cuStreamWaitEvent", event, [&](Event &known) -> Result {
    Stream *stream = nullptr;
    if (Result refused = find_stream(handle, *current_context(), stream))
      return refused;
    return join(*stream, known);
  });
}

Result cuStreamGetCtx(Stream *handle, Context **context) {
  return about_alone("cuStreamGetCtx", handle, [&](Stream &stream) -> Result {
    if (!context)
      return invalid_value;
    *context = stream.context;
    return success;
  });
}

Result cuStreamGetCtx_v2(Stream *handle, Context **context, void **green_context) {
  if (green_context)
    *green_context = nullptr; // green contexts are not supported
  return cuStreamGetCtx(handle, context);
}

Result cuStreamGetDevice(Stream *handle, Device *device) {
  return about_alone("cuStreamGetDevice", handle, [&](Stream &stream) -> Result {
    if (!device)
      return invalid_value;
    if (Result refused = refuse_if_capturing(stream))
      return refused;
    *device = stream.context->device;
    return success;
  });
}

Result cuStreamGetFlags(Stream *handle, unsigned *flags) {
  return about("cuStreamGetFlags", handle, [&](Stream &stream) -> Result {
    if (!flags)
      return invalid_value;
    *flags = stream.flags;
    return success;
  });
}

Result cuStreamGetPriority(Stream *handle, int *priority) {
  return about("cuStreamGetPriority", handle, [&](Stream &stream) -> Result {
    if (!priority)
      return invalid_value;
    *priority = stream.priority;
    return success;
  });
}

Result cuStreamGetId(Stream *handle, unsigned long long *id) {
  return about("cuStreamGetId", handle, [&](Stream &stream) -> Result {
    if (!id)
      return invalid_value;
    if (stream.id == 0)
      stream.id = ++driver().last_id;
    *id = stream.id;
    return success;
  });
}

// Host functions may not call the driver, so they can run under the mutex.

Result cuStreamAddCallback(Stream *handle, StreamCallback callback, void *data, unsigned flags) {
  return about("cuStreamAddCallback", handle, [&](Stream &stream) -> Result {
    if (!callback || flags != 0)
      return invalid_value;
    if (stream.capture)
      return not_permitted;
    call_back([&] { callback(handle, success, data); });
    return success;
  });
}

Result cuLaunchHostFunc(Stream *handle, HostFunction function, void *data) {
  return about("cuLaunchHostFunc", handle, [&](Stream &stream) -> Result {
    if (!function)
      return invalid_value;
    return enqueue(stream, [function, data]() -> Result {
      call_back([&] { function(data); });
      return success;
    });
  });
}

// ---- events ----

Result cuEventCreate(Event **event, unsigned flags) {
  return call("cuEventCreate", Needs::device, [&](Context &context) -> Result {
    constexpr unsigned known = event_blocking_sync | event_disable_timing | event_interprocess;
    if (!event || (flags & ~known))
      return invalid_value;
    if (flags & event_interprocess)
      return not_supported;
    auto made = std::make_unique<Event>();
    made->context = &context;
    made->flags = flags;
    *event = driver().events.add(std::move(made));
    return success;
  });
}

Result cuEventDestroy_v2(Event *event) {
  return call("cuEventDestroy", Needs::driver, [&]() -> Result {
    if (!driver().events.has(event))
      return invalid_handle;
    Result fault = driver().device_of(*event->context).fault;
    driver().events.remove(event);
    return fault;
  });
}

Result cuEventRecord(Event *event, Stream *stream) {
  return record_in("cuEventRecord", event, stream);
}

Result cuEventRecordWithFlags(Event *event, Stream *stream, unsigned) {
  return record_in("cuEventRecordWithFlags", event, stream);
}

Result cuEventQuery(Event *event) {
  return about("cuEventQuery", event, [](Event &known) { return refuse_captured(known); });
}

Result cuEventSynchronize(Event *event) {
  return about("cuEventSynchronize", event, [](Event &known) { return refuse_captured(known); });
}

Result cuEventElapsedTime(float *milliseconds, Event *first, Event *last) {
  return elapsed(milliseconds, first, last);
}

Result cuEventElapsedTime_v2(float *milliseconds, Event *first, Event *last) {
  return elapsed(milliseconds, first, last);
}

} // extern "C"

} // namespace tritonc::emulator::driver
