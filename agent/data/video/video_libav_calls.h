/* video_libav_calls.h: the functions of FFmpeg that are called, by their prefix and without it
 * (av_packet_alloc): the tables of video_libav.h. */
#pragma once

#define AV_CALLS(CALL)                                                                             \
    CALL(av, audio_fifo_alloc)                                                                     \
    CALL(av, audio_fifo_free)                                                                      \
    CALL(av, audio_fifo_read)                                                                      \
    CALL(av, audio_fifo_size)                                                                      \
    CALL(av, audio_fifo_write)                                                                     \
    CALL(av, buffer_ref)                                                                           \
    CALL(av, buffer_unref)                                                                         \
    CALL(av, calloc)                                                                               \
    CALL(av, channel_layout_check)                                                                 \
    CALL(av, channel_layout_copy)                                                                  \
    CALL(av, channel_layout_default)                                                               \
    CALL(av, channel_layout_describe)                                                              \
    CALL(av, compare_ts)                                                                           \
    CALL(av, dict_copy)                                                                            \
    CALL(av, dict_free)                                                                            \
    CALL(av, dict_get)                                                                             \
    CALL(av, dict_set)                                                                             \
    CALL(av, display_rotation_get)                                                                 \
    CALL(av, find_best_stream)                                                                     \
    CALL(av, find_input_format)                                                                    \
    CALL(av, frame_alloc)                                                                          \
    CALL(av, frame_copy_props)                                                                     \
    CALL(av, frame_free)                                                                           \
    CALL(av, frame_get_buffer)                                                                     \
    CALL(av, frame_make_writable)                                                                  \
    CALL(av, frame_move_ref)                                                                       \
    CALL(av, frame_unref)                                                                          \
    CALL(av, free)                                                                                 \
    CALL(av, freep)                                                                                \
    CALL(av, get_pix_fmt_name)                                                                     \
    CALL(av, guess_sample_aspect_ratio)                                                            \
    CALL(av, hwdevice_ctx_create)                                                                  \
    CALL(av, hwframe_transfer_data)                                                                \
    CALL(av, interleaved_write_frame)                                                              \
    CALL(av, log_format_line2)                                                                     \
    CALL(av, log_set_callback)                                                                     \
    CALL(av, malloc)                                                                               \
    CALL(av, mallocz)                                                                              \
    CALL(av, new_packet)                                                                           \
    CALL(av, packet_alloc)                                                                         \
    CALL(av, packet_clone)                                                                         \
    CALL(av, packet_free)                                                                          \
    CALL(av, packet_move_ref)                                                                      \
    CALL(av, packet_ref)                                                                           \
    CALL(av, packet_rescale_ts)                                                                    \
    CALL(av, packet_unref)                                                                         \
    CALL(av, pix_fmt_desc_get)                                                                     \
    CALL(av, read_frame)                                                                           \
    CALL(av, rescale_q)                                                                            \
    CALL(av, samples_set_silence)                                                                  \
    CALL(av, seek_frame)                                                                           \
    CALL(av, strdup)                                                                               \
    CALL(av, stream_get_parser)                                                                    \
    CALL(av, stream_get_side_data)                                                                 \
    CALL(av, strerror)                                                                             \
    CALL(av, write_frame)                                                                          \
    CALL(av, write_trailer)

#define AVCODEC_CALLS(CALL)                                                                        \
    CALL(avcodec, alloc_context3)                                                                  \
    CALL(avcodec, decode_subtitle2)                                                                \
    CALL(avcodec, default_get_format)                                                              \
    CALL(avcodec, descriptor_get)                                                                  \
    CALL(avcodec, encode_subtitle)                                                                 \
    CALL(avcodec, find_decoder)                                                                    \
    CALL(avcodec, find_encoder)                                                                    \
    CALL(avcodec, find_encoder_by_name)                                                            \
    CALL(avcodec, flush_buffers)                                                                   \
    CALL(avcodec, free_context)                                                                    \
    CALL(avcodec, get_hw_config)                                                                   \
    CALL(avcodec, get_name)                                                                        \
    CALL(avcodec, open2)                                                                           \
    CALL(avcodec, parameters_alloc)                                                                \
    CALL(avcodec, parameters_copy)                                                                 \
    CALL(avcodec, parameters_free)                                                                 \
    CALL(avcodec, parameters_from_context)                                                         \
    CALL(avcodec, parameters_to_context)                                                           \
    CALL(avcodec, receive_frame)                                                                   \
    CALL(avcodec, receive_packet)                                                                  \
    CALL(avcodec, send_frame)                                                                      \
    CALL(avcodec, send_packet)

#define AVFORMAT_CALLS(CALL)                                                                       \
    CALL(avformat, alloc_context)                                                                  \
    CALL(avformat, alloc_output_context2)                                                          \
    CALL(avformat, close_input)                                                                    \
    CALL(avformat, find_stream_info)                                                               \
    CALL(avformat, free_context)                                                                   \
    CALL(avformat, new_stream)                                                                     \
    CALL(avformat, open_input)                                                                     \
    CALL(avformat, write_header)

#define AVIO_CALLS(CALL)                                                                           \
    CALL(avio, alloc_context)                                                                      \
    CALL(avio, close_dyn_buf)                                                                      \
    CALL(avio, context_free)                                                                       \
    CALL(avio, flush)                                                                              \
    CALL(avio, open_dyn_buf)

#define SWR_CALLS(CALL)                                                                            \
    CALL(swr, alloc)                                                                               \
    CALL(swr, close)                                                                               \
    CALL(swr, convert_frame)                                                                       \
    CALL(swr, free)

#define SWS_CALLS(CALL)                                                                            \
    CALL(sws, freeContext)                                                                         \
    CALL(sws, getCachedContext)                                                                    \
    CALL(sws, getCoefficients)                                                                     \
    CALL(sws, scale)                                                                               \
    CALL(sws, setColorspaceDetails)

#define AVSUBTITLE_CALLS(CALL) CALL(avsubtitle, free)
