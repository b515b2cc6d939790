// SPDX-License-Identifier: Apache-2.0
#include "tests/seed.h"
#include "tests/unit/agent/data/video/films.h"

#include <assert.h>

/* What a film has besides its pictures. The pictures are small: they are not the subject. */
#define SMALL "-f lavfi -i testsrc2=s=64x48:r=25:d=3"
#define AND_TONE SMALL " -f lavfi -i sine=440:d=3:r=48000"
#define X264 " -c:v libx264 -preset ultrafast -g 12"
#define SUBTITLES                                                                                  \
    "printf '1\\n00:00:00,500 --> 00:00:01,500\\none\\n\\n2\\n00:00:01,600 --> 00:00:02,500\\n"    \
    "two\\n' > $OUT.srt && "
#define CHAPTERS                                                                                   \
    "printf ';FFMETADATA1\\n[CHAPTER]\\nTIMEBASE=1/1000\\nSTART=0\\nEND=1500\\ntitle=a\\n"         \
    "[CHAPTER]\\nTIMEBASE=1/1000\\nSTART=1500\\nEND=3000\\ntitle=b\\n' > $OUT.txt && "

enum { GROWN_FRAMES = 220 }; /* of t-grown.ts */

static const struct kind {
    const char *name, *command;
    const char *ending; /* of the film that is made */
    const char *lost;   /* its "what"s, each followed by a semicolon */
} kinds[] = {
    {"t-aac.mp4", "ff " AND_TONE X264 " -c:a aac $OUT", "mp4", ""},
    {"t-mp3.mkv", "ff " AND_TONE X264 " -c:a libmp3lame $OUT", "mp4", ""},
    {"t-mp2.ts", "ff " AND_TONE X264 " -c:a mp2 $OUT", "mp4", ""},
    {"t-ac3.mkv", "ff " AND_TONE X264 " -c:a ac3 $OUT", "mp4", ""},
    {"t-eac3.mkv", "ff " AND_TONE X264 " -c:a eac3 $OUT", "mp4", ""},
    {"t-opus.webm", "ff " AND_TONE " -c:v libvpx -c:a libopus $OUT", "mp4", ""},
    {"t-flac.mkv", "ff " AND_TONE X264 " -c:a flac $OUT", "mp4", ""},
    {"t-flac.mp4", "ff " AND_TONE X264 " -c:a flac -strict -2 $OUT", "mp4", ""},
    {"t-flac.nut", "ff " AND_TONE X264 " -c:a flac $OUT", "mp4", ""},
    {"t-alac.mov", "ff " AND_TONE X264 " -c:a alac $OUT", "mp4", ""},
    {"t-vorbis.mkv", "ff " AND_TONE X264 " -c:a libvorbis $OUT", "mkv", ""},
    {"t-pcm.mov", "ff " AND_TONE X264 " -c:a pcm_s16le $OUT", "mkv", ""},
    {"t-pcm24.mkv", "ff " AND_TONE X264 " -c:a pcm_s24le $OUT", "mkv", ""},
    {"t-dts.mkv", "ff " AND_TONE X264 " -c:a dca -strict -2 $OUT", "mkv", ""},
    {"t-truehd.mkv", "ff " AND_TONE X264 " -c:a truehd -strict -2 $OUT", "mkv", ""},
    {"t-mlp.mkv", "ff " AND_TONE X264 " -c:a mlp -strict -2 $OUT", "mkv", ""},
    {"t-wavpack.mkv", "ff " AND_TONE X264 " -c:a wavpack $OUT", "mkv", ""},
    {"t-tta.mkv", "ff " AND_TONE X264 " -c:a tta $OUT", "mp4", "sound track 1 (tta);"},
    {"t-wma.wmv", "ff " AND_TONE " -c:v wmv2 -c:a wmav2 $OUT", "mkv", ""},
    {"t-adpcm.avi", "ff " AND_TONE " -c:v mpeg4 -c:a adpcm_ms $OUT", "mkv", ""},
    {"t-adpcm.mov", "ff " AND_TONE X264 " -c:a adpcm_ima_qt $OUT", "mp4",
     "sound track 1 (adpcm_ima_qt);"},
    {"t-mulaw.avi", "ff " AND_TONE " -c:v mpeg4 -c:a pcm_mulaw $OUT", "mkv", ""},
    {"t-mulaw.mov", "ff " AND_TONE X264 " -c:a pcm_mulaw $OUT", "mkv", ""},
    {"t-pcm16be.mov", "ff " AND_TONE X264 " -c:a pcm_s16be $OUT", "mkv", ""},
    {"t-pcm8.mov", "ff " AND_TONE X264 " -c:a pcm_s8 $OUT", "mp4", "sound track 1 (pcm_s8);"},
    {"t-nelly.flv", "ff " SMALL " -f lavfi -i sine=440:d=3:r=44100 -c:v flv -c:a nellymoser $OUT",
     "mp4", "sound track 1 (nellymoser);"},
    {"t-two.mkv",
     "ff " AND_TONE " -f lavfi -i sine=880:d=3" X264 " -map 0 -map 1 -map 2 -c:a aac "
     "-metadata:s:a:1 language=fre $OUT",
     "mp4", ""},
    {"t-mixed.mkv",
     "ff " AND_TONE " -f lavfi -i sine=880:d=3" X264 " -map 0 -map 1 -map 2 -c:a:0 aac "
     "-c:a:1 libvorbis $OUT",
     "mkv", ""},
    {"t-silent.mp4", "ff " SMALL X264 " $OUT", "mp4", ""},
    {"t-short.mp4", "ff " SMALL " -f lavfi -i sine=440:d=1" X264 " -c:a aac $OUT", "mp4", ""},
    {"t-late.mkv", "ff " SMALL " -itsoffset 1 -f lavfi -i sine=440:d=2" X264 " -c:a aac $OUT",
     "mp4", ""},
    {"t-early.ts", "ff -itsoffset 0.7 " AND_TONE X264 " -c:a mp2 $OUT", "mp4", ""},
    {"t-chapters.mp4",
     CHAPTERS "ff " AND_TONE " -i $OUT.txt -map_metadata 2 -map 0 -map 1" X264 " -c:a aac $OUT",
     "mp4", ""},
    {"t-chapters.mkv",
     CHAPTERS "ff " AND_TONE " -i $OUT.txt -map_metadata 2 -map 0 -map 1" X264
              " -c:a libvorbis $OUT",
     "mkv", ""},
    {"t-text.mp4",
     SUBTITLES "ff " AND_TONE " -i $OUT.srt -map 0 -map 1 -map 2" X264
               " -c:a aac -c:s mov_text $OUT",
     "mp4", ""},
    {"t-srt.mkv",
     SUBTITLES "ff " AND_TONE " -i $OUT.srt -map 0 -map 1 -map 2" X264 " -c:a aac -c:s srt $OUT",
     "mp4", ""},
    {"t-vtt.mkv",
     SUBTITLES "ff " AND_TONE " -i $OUT.srt -map 0 -map 1 -map 2" X264 " -c:a aac -c:s webvtt $OUT",
     "mp4", ""},
    {"t-assmp4.mkv",
     SUBTITLES "ff " AND_TONE " -i $OUT.srt -map 0 -map 1 -map 2" X264 " -c:a aac -c:s ass $OUT",
     "mp4", "subtitles 1 (ass);"},
    {"t-ass.mkv",
     SUBTITLES "ff " AND_TONE " -i $OUT.srt -map 0 -map 1 -map 2" X264
               " -c:a libvorbis -c:s ass -metadata:s:s:0 language=eng $OUT",
     "mkv", ""},
    {"t-attached.mkv",
     SUBTITLES "ff " AND_TONE X264 " -c:a aac -attach $OUT.srt -metadata:s:t mimetype=text/plain "
               "$OUT",
     "mp4", "attachment 1 (none);"},
    {"t-timecode.mov", "ff " AND_TONE X264 " -c:a aac -timecode 00:00:00:00 $OUT", "mp4",
     "data track 1 (none, eng);"},
    {"t-second.mkv",
     "ff " AND_TONE " -f lavfi -i testsrc=s=32x32:d=3" X264 " -map 0 -map 1 -map 2 -c:a aac $OUT",
     "mp4", "video track 2 (h264);"},
    {"t-laced.mkv",
     "ff " AND_TONE " -vf setfield=tff -c:v mpeg2video -flags +ilme+ildct -c:a aac $OUT", "mp4",
     "interlacing;"},
    {"t-alpha.webm",
     "ff " SMALL " -pix_fmt yuva420p -c:v libvpx-vp9 -cpu-used 8 -deadline realtime $OUT", "mp4",
     "transparency;"},
    {"t-alpha.mov", "ff " SMALL " -pix_fmt yuva444p10le -c:v prores_ks -profile:v 4444 $OUT", "mp4",
     "transparency;"},
    {"t-hdr.mkv",
     "ff " SMALL X264 " -pix_fmt yuv420p10le -color_primaries bt2020 -color_trc smpte2084 "
     "-colorspace bt2020nc $OUT",
     "mp4", "high dynamic range;"},
    {"t-stereo.mkv", "ff " SMALL X264 " -metadata:s:v:0 stereo_mode=left_right $OUT", "mp4",
     "stereo or spherical layout;"},
    {"t-fonts.mkv",
     "echo x >$OUT.ttf; ff " SMALL X264 " $(for i in $(seq 20); do echo -attach $OUT.ttf; done) "
     "-metadata:s:t mimetype=application/x-truetype-font $OUT",
     "mp4",
     "attachment 1 (ttf);attachment 2 (ttf);attachment 3 (ttf);attachment 4 (ttf);"
     "attachment 5 (ttf);attachment 6 (ttf);attachment 7 (ttf);attachment 8 (ttf);"
     "attachment 9 (ttf);attachment 10 (ttf);attachment 11 (ttf);attachment 12 (ttf);"
     "attachment 13 (ttf);attachment 14 (ttf);attachment 15 (ttf);5 others;"},
    {"t-joined.ts",
     "ff " AND_TONE X264 " -bf 0 -c:a mp2 one-$OUT && cat one-$OUT one-$OUT > $OUT && "
     "rm one-$OUT",
     "mp4", ""},
    {"t-joined3.ts",
     "ff " AND_TONE X264 " -bf 2 -c:a aac one-$OUT && cat one-$OUT one-$OUT one-$OUT > $OUT && "
     "rm one-$OUT",
     "mp4", ""},
    /* libav looks for tracks in the first 5 MB, and at the end. */
    {"t-grown.ts",
     "ff -f lavfi -i testsrc2=s=160x120:r=25:d=5.6,noise=alls=90:allf=t" X264
     " -qp 0 -bf 0 one-$OUT && ff -f lavfi -i testsrc2=s=160x120:r=25:d=2 -f lavfi -i "
     "sine=440:d=2" X264
     " -qp 0 -bf 0 -c:a mp2 two-$OUT && ff -i one-$OUT -t 1.2 -c copy end-$OUT && "
     "cat one-$OUT two-$OUT end-$OUT >$OUT && rm one-$OUT two-$OUT end-$OUT",
     "mp4", "1 late sound track;"},
    {"t-sizes.ts",
     "ff " SMALL X264 " -bf 0 one-$OUT && ff -f lavfi -i testsrc2=s=128x96:r=25:d=3" X264
     " -bf 0 two-$OUT && cat one-$OUT two-$OUT > $OUT && rm one-$OUT two-$OUT",
     "mp4", "picture size;"},
    {"t-captions.m2v",
     "ff " SMALL " -c:v mpeg2video raw-$OUT && perl -0777 -pe "
     "'s/\\x00\\x00\\x01\\x01/\\x00\\x00\\x01\\xB2GA94\\x03\\x41\\xFF\\xFC\\xC8\\xE9$&/g' raw-$OUT "
     ">$OUT && rm raw-$OUT",
     "mp4", "closed captions;"},
    {"t-captions.ts",
     "ff " SMALL X264 " -f h264 raw-$OUT && perl -0777 -pe "
     "'s/\\x00\\x00\\x01\\x65/"
     "\\x00\\x00\\x01\\x06\\x04\\x0E\\xB5\\x00\\x31GA94\\x03\\x41\\xFF\\xFC\\xC8"
     "\\xE9\\xFF\\x80$&/g' raw-$OUT >cc-$OUT && ff -f h264 -r 25 -i cc-$OUT -c copy $OUT && "
     "rm raw-$OUT cc-$OUT",
     "mp4", "closed captions;"},
    {"t-vfr.mkv",
     "ff " AND_TONE " -vf \"select='not(eq(mod(n,3),1))'\" -vsync vfr" X264 " -c:a aac $OUT", "mp4",
     ""},
    {"t-edit.mp4",
     "ff " AND_TONE X264 " -bf 3 -c:a aac whole-$OUT && ff -ss 0.5 -i whole-$OUT -c copy $OUT && "
     "rm whole-$OUT",
     "mp4", ""},
    {"t-8k.mkv", "ff " SMALL " -f lavfi -i sine=440:d=3:r=8000" X264 " -c:a pcm_s16le $OUT", "mkv",
     ""},
    {"t-surround.mkv",
     "ff " SMALL " -f lavfi -i anoisesrc=d=3:a=0.1,aformat=channel_layouts=5.1" X264
     " -c:a ac3 $OUT",
     "mp4", ""},
    {"t-rear.mkv",
     "ff " SMALL " -f lavfi -i anoisesrc=d=3:a=0.1,aformat=channel_layouts=6.1" X264
     " -c:a tta $OUT",
     "mp4", "sound track 1 (tta);"},
    {"t-cut.ts",
     "ff " AND_TONE X264 " -c:a mp2 whole-$OUT && head -c $(($(stat -c %s whole-$OUT) / 2 + 50)) "
     "whole-$OUT >$OUT && rm whole-$OUT",
     "mp4", "end;"},
    {"t-bare.nut", "ff " AND_TONE X264 " -c:a mp2 -write_index 0 $OUT", "mp4", ""},
    {"t-live.wmv", "ff " AND_TONE " -c:v wmv2 -c:a wmav2 -f asf - | cat >$OUT", "mkv", ""},
    {"t-mpeg1.mpg", "ff " AND_TONE " -c:v mpeg1video -c:a mp2 $OUT", "mp4", ""},
    {"t-theora.ogv", "ff " AND_TONE " -c:v libtheora -c:a flac $OUT", "mp4", ""},
    {"t-prores.mov", "ff " AND_TONE " -c:v prores_ks -c:a pcm_s24le $OUT", "mkv", ""},
    {"t-hevc.mp4",
     "ff " AND_TONE " -c:v libx265 -preset ultrafast -x265-params log-level=none -c:a aac $OUT",
     "mp4", ""},
};

static_assert(ARRAY_LEN(kinds) % 37 != 0, "the sample's step");

static void check_lost(const struct kind *kind, const char *mode) {
    struct error err = {0};
    struct listing *listing = NULL;
    AUTO(tree_freep) json_t *spec = spec_of(kind->name);
    AUTO(buffer_release) struct buffer text;
    json_object_set_new(tree_get(spec, "output"), "mode", json_string(mode));
    buffer_init(&text, 4096);
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    size_t i;
    const json_t *row;
    json_array_foreach(listing ? video()->lost(listing) : NULL, i, row) {
        CHECK_OK(buffer_printf(&text, &err, "%s;", tree_text(row, "what", "")), &err);
        CHECK(*tree_text(row, "why", ""));
    }
    CHECK_STR(text.data ? text.data : "", kind->lost);
    video()->listing_free(listing);
}

/* How long each sound track plays, in tenths of a second: the sum over its packets. */
static void lengths(const char *path, char *text, size_t room) {
    char command[20000];
    snprintf(command, sizeof command,
             "ffmpeg -v quiet -i '%s' -map 0:a -c:a pcm_s16le -ac 1 -ar 8000 -f framecrc - | awk "
             "-F, '/^[0-9]/ {size[$1] += $5} END {for (i = 0; i in size; i++) printf \"%%d \", "
             "size[i] / 1600 + 0.5}'",
             path);
    FILE *pipe = popen(command, "r");
    size_t got = pipe ? fread(text, 1, room - 1, pipe) : 0;
    text[got] = 0;
    if (pipe) {
        pclose(pipe);
    }
}

static bool is_near(const char *from, const char *to) {
    for (;;) {
        char *from_end, *to_end;
        long one = strtol(from, &from_end, 10), other = strtol(to, &to_end, 10);
        if (from_end == from || to_end == to) {
            return from_end == from && to_end == to;
        }
        if (labs(one - other) > 1) {
            return false;
        }
        from = from_end;
        to = to_end;
    }
}

struct packets {
    long chapters, subtitles; /* chapters; packets of subtitles */
    /* When the last packet of the first sound track begins, in milliseconds from the first; a track
     * that is decoded whole may still have wrong times. */
    long span;
};

/* By one ffprobe: each start of the program takes a twentieth of a second of a processor. */
static struct packets packets_of(const char *path) {
    struct packets packets = {-1, -1, -1};
    char command[20000];
    snprintf(
        command, sizeof command,
        "ffprobe -v quiet -show_chapters -show_entries "
        "chapter=id:packet=codec_type,stream_index,pts_time -of csv '%s' | awk -F, '"
        "/^chapter/ {chapters++} $2 == \"subtitle\" && $4 ~ /^[0-9]/ {subtitles++} "
        "$2 == \"audio\" && $4 ~ /^[-0-9]/ {if (sound == \"\" || $3 < sound) sound = $3; "
        "if (!($3 in low) || $4 + 0 < low[$3]) low[$3] = $4 + 0; "
        "if (!($3 in high) || $4 + 0 > high[$3]) high[$3] = $4 + 0} "
        "END {printf \"%%d %%d %%d\", chapters, subtitles, (high[sound] - low[sound]) * 1000}'",
        path);
    FILE *pipe = popen(command, "r");
    if (pipe) {
        CHECK_INT(fscanf(pipe, "%ld %ld %ld", &packets.chapters, &packets.subtitles, &packets.span),
                  3);
        pclose(pipe);
    }
    return packets;
}

/* What the subtitles say and when, to a tenth of a second, as a number. */
static long words_of(const char *path) {
    return ask_number(
        "ffmpeg -v quiet -i '%s' -map 0:s:0 -f srt - | sed 's/<[^>]*>//g; s/,\\([0-9]\\)"
        "[0-9]*/.\\1/g' | cksum | cut -d' ' -f1",
        path);
}

/* The bytes of all sound, as a number: of its packets (copy) or samples (pcm_s16le). */
static long sound_of(const char *path, const char *codec) {
    return ask_number("ffmpeg -v quiet -i '%s' -map 0:a -c %s -f streamhash -hash md5 - | cksum | "
                      "cut -d' ' -f1",
                      path, codec);
}

/* Some containers put headers into the packets; then the samples count. */
static bool sounds_alike(const char *from, const char *to) {
    return sound_of(from, "copy") == sound_of(to, "copy") ||
           sound_of(from, "pcm_s16le") == sound_of(to, "pcm_s16le");
}

static void check_film(const struct kind *kind) {
    int64_t failed = films_failed;
    struct error err = {0};
    AUTO(tree_freep) json_t *outputs = json_array();
    char from[8192], to[8192], wanted[256], seen[256];
    snprintf(from, sizeof from, "%s/%s", fixtures_folder, kind->name);
    CHECK_OK(make_video(kind->name, 11, outputs, &err), &err);
    const char *output = json_string_value(json_array_get(outputs, 0));
    const char *ending = output ? strrchr(output, '.') : NULL;
    CHECK_STR(ending ? ending + 1 : "", kind->ending);
    snprintf(to, sizeof to, "%s/%s", fixtures_out, output ? output + strlen("out/") : "");
    /* ffprobe 5.1 dies of a track that it finds late. */
    bool is_late = strcmp(kind->name, "t-grown.ts") == 0;
    CHECK_INT(ask_frames(to), is_late ? GROWN_FRAMES : ask_frames(from));
    CHECK_INT(films_failed, failed);
    bool is_joined = strncmp(kind->name, "t-joined", strlen("t-joined")) == 0;
    /* The last packets of FLAC in NUT and of a track that is encoded again begin elsewhere. */
    struct packets before = packets_of(from), after = packets_of(to);
    if (!is_joined && !*kind->lost && labs(before.span - after.span) > 130) {
        printf("# sound: %ld ms in the input, %ld in the film\n", before.span, after.span);
        test_failures++;
    }
    if (is_joined) { /* its clock goes back in the input: 3 s for each of 2 or 3 films */
        CHECK(after.span > (strchr(kind->name, '3') ? 8700 : 5700));
    }
    bool is_copied = !strstr(kind->lost, "sound track");
    if (is_copied && !sounds_alike(from, to)) {
        printf("# the sound's bytes differ\n");
        test_failures++;
    }
    lengths(from, wanted, sizeof wanted);
    lengths(to, seen, sizeof seen);
    if (!is_near(wanted, seen)) {
        printf("# sound: %s in the input, %s in the film\n", wanted, seen);
        test_failures++;
    }
    CHECK_INT(after.chapters, before.chapters);
    CHECK_INT(after.subtitles > 0, before.subtitles > 0);
    if (strstr(kind->command, SUBTITLES)) {
        CHECK_INT(words_of(to), words_of(from));
        CHECK(words_of(to) != 0);
    }
}

static void each_is_whole_or_told(void) {
    const char *seed = getenv("SOAK_SEED"), *rounds = getenv("SOAK_ROUNDS");
    bool is_all = rounds && strtol(rounds, NULL, 10) >= 2000;
    size_t count = is_all ? ARRAY_LEN(kinds) : (size_t)(12 / test_divisor());
    unsigned at = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;
    printf("# SOAK_SEED=%u: %zu of %zu kinds of film\n", at, count, ARRAY_LEN(kinds));
    for (size_t i = 0; i < count; i++) {
        /* 37 is prime and no factor of their number, so no kind comes twice. */
        const struct kind *kind = &kinds[(at + 37 * i) % ARRAY_LEN(kinds)];
        int before = test_failures;
        if (fixture(kind->name, kind->command) < 0) {
            printf("# cannot make %s\n", kind->name);
            test_failures++;
            continue;
        }
        check_lost(kind, "PerFile");
        check_film(kind);
        if (test_failures > before) {
            printf("# ... with %s\n", kind->name);
        }
    }
}

/* Whatever the seed: what was lost silently before. */
static void known_losses_stay_away(void) {
    static const char *const names[] = {"t-truehd.mkv", "t-joined3.ts", "t-flac.mkv",   "t-srt.mkv",
                                        "t-tta.mkv",    "t-flac.nut",   "t-alpha.webm", "t-hdr.mkv",
                                        "t-fonts.mkv",  "t-grown.ts",   "t-sizes.ts"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        for (size_t j = 0; j < ARRAY_LEN(kinds) && test_takes(i, ARRAY_LEN(names)); j++) {
            if (strcmp(kinds[j].name, names[i]) == 0 &&
                fixture(kinds[j].name, kinds[j].command) == 0) {
                check_lost(&kinds[j], "PerFile");
                check_film(&kinds[j]);
            }
        }
    }
}

/* Rows of frames that were scored in another size, or of a film that was cut, say so, too; they
 * have no tracks to lose. */
static void rows_are_told(void) {
    static const char *const names[] = {"t-sizes.ts", "t-cut.ts", "t-grown.ts"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t at = 0;
        while (strcmp(kinds[at].name, names[i]) != 0) {
            at++;
        }
        struct kind told = kinds[at];
        told.lost = strcmp(told.name, "t-grown.ts") == 0 ? "" : told.lost;
        CHECK_INT(fixture(told.name, told.command), 0);
        check_lost(&told, "AppendRow");
    }
}

/* The film of a fixture, and why it lacks what ("": it does not). */
static const char *make_film(const char *name, const char *command, const char *what, char *path,
                             size_t room) {
    struct error err = {0};
    AUTO(tree_freep) json_t *outputs = json_array();
    CHECK_INT(fixture(name, command), 0);
    CHECK_OK(make_video(name, 100, outputs, &err), &err);
    const char *output = json_string_value(json_array_get(outputs, 0));
    snprintf(path, room, "%s/%s", fixtures_out, output ? output + strlen("out/") : "");
    return tree_text(tree_find(films_lost, "what", what), "why", "");
}

#define TONE(at) "0.3*sin(2*PI*440*t)*between(t," #at "," #at ".99)"
#define TONES(layout)                                                                              \
    " -f lavfi -i \"aevalsrc='" TONE(0) "|" TONE(1) "|" TONE(2) "|" TONE(3) "|" TONE(4) "|" TONE(  \
        5) "|" TONE(6) "':c=" layout ":d=7\""

/* In which channel the sound is, second after second, as digits; 1 is the first. */
static long places_of_sound(const char *path) {
    return ask_number(
        "for i in 0 1 2 3 4 5 6; do ffmpeg -nostdin -v info -ss $i.3 -i '%s' -t 0.4 -map 0:a -af "
        "astats=measure_overall=none:measure_perchannel=RMS_level -f null - 2>&1 | awk '/RMS "
        "level/ {n++; if ($NF != \"-inf\" && $NF > -40) printf \"%%d\", n}'; done; echo",
        path);
}

/* Each channel is where it was, and what has no place in AAC is named. */
static void channels_stay_or_are_told(void) {
    char path[8192];
    const char *why =
        make_film("t-places.mkv",
                  "ff -f lavfi -i testsrc2=s=64x48:r=25:d=7" TONES("FL+FR+FC+LFE+BL+BR+BC") X264
                  " -c:a tta $OUT",
                  "sound track 1 (tta)", path, sizeof path);
    CHECK_STR(why, "encoded again as AAC: MP4 does not take this codec");
    CHECK_INT(places_of_sound(path), 1234675); /* those at the back are now at the sides */
    why = make_film("t-wide.mkv",
                    "ff " SMALL " -f lavfi -i \"anoisesrc=d=3:a=0.1,aformat=channel_layouts="
                    "7.1(wide)\"" X264 " -c:a tta $OUT",
                    "sound track 1 (tta)", path, sizeof path);
    CHECK_STR(why, "encoded again as AAC: MP4 does not take this codec; its 8 channels "
                   "(7.1(wide-side)) are mixed to 6 (5.1)");
}

/* Packets whose checksum is wrong are silent, and counted. */
static void broken_sound_is_told(void) {
    char path[8192];
    const char *why = make_film(
        "t-noisy.mkv",
        "ff " SMALL " -f lavfi -i anoisesrc=d=6:a=0.1" X264
        " -c:a tta $OUT && set -- $(ffprobe -v error -select_streams a -show_entries "
        "packet=pos,size -of csv=p=0 $OUT | sed -n 2p | tr , ' ') && printf noise | dd of=$OUT "
        "bs=1 seek=$(($2 + $1 / 2)) conv=notrunc status=none",
        "parts of sound track 1 (tta)", path, sizeof path);
    CHECK_STR(why, "1 of its 6 packets cannot be decoded whole: it is silent there");
    CHECK_INT(packets_of(path).span > 5500, true);
}

/* Changes 300 bytes of the pictures, at places that depend on the seed alone. */
#define SPOILT                                                                                     \
    " whole-$OUT && python3 -c \"import random, sys; random.seed(7); d = "                         \
    "bytearray(open(sys.argv[1], 'rb').read()); n = len(d); s = n * 4 // 10; "                     \
    "[d.__setitem__(random.randrange(s, s + n // 10), random.randrange(256)) for i in "            \
    "range(300)]; open(sys.argv[2], 'wb').write(d)\" whole-$OUT $OUT && rm whole-$OUT"
#define LONG "-f lavfi -i testsrc2=s=160x120:r=25:d=6 -f lavfi -i sine=440:d=6"

/* Where the container itself is broken, frames are missing that have no numbers. */
static bool loses_pictures(const char *name) {
    struct error err = {0};
    struct listing *listing = NULL;
    AUTO(tree_freep) json_t *spec = spec_of(name);
    bool is_told = false;
    size_t i;
    const json_t *row;
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    json_array_foreach(listing ? video()->lost(listing) : NULL, i, row) {
        is_told |= strcmp(tree_text(row, "what", ""), "pictures") == 0;
    }
    video()->listing_free(listing);
    return is_told;
}

/* Films with a broken stretch: its frames fail, those before and after are scored, and the film is
 * as long as before. */
static void broken_stretches_fail(void) {
    static const struct kind broken[] = {
        {"b-h264.mp4", "ff " LONG " -c:v libx264 -g 15 -bf 0 -c:a aac" SPOILT, "mp4", ""},
        {"b-bframes.mp4", "ff " LONG " -c:v libx264 -g 15 -bf 3 -c:a aac" SPOILT, "mp4", ""},
        {"b-mpeg4.avi", "ff " LONG " -c:v mpeg4 -g 12 -c:a libmp3lame" SPOILT, "mp4", ""},
        {"b-mpeg2.mkv", "ff " LONG " -c:v mpeg2video -g 12 -c:a mp2" SPOILT, "mp4", ""},
        {"b-hevc.mp4",
         "ff " LONG " -c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=15 -c:a "
         "aac" SPOILT,
         "mp4", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *outputs = json_array();
        char to[8192];
        int before = test_failures;
        int64_t failed = films_failed;
        if (!test_takes(i, ARRAY_LEN(broken))) {
            continue;
        }
        CHECK_INT(fixture(broken[i].name, broken[i].command), 0);
        CHECK_OK(make_video(broken[i].name, 150, outputs, &err), &err);
        failed = films_failed - failed;
        printf("# %s: %lld frames failed\n", broken[i].name, (long long)failed);
        CHECK(failed > 0 && failed < 75);
        const char *output = json_string_value(json_array_get(outputs, 0));
        snprintf(to, sizeof to, "%s/%s", fixtures_out, output ? output + strlen("out/") : "");
        CHECK(ask_frames(to) == 150 || loses_pictures(broken[i].name));
        if (test_failures > before) {
            printf("# ... with %s\n", broken[i].name);
        }
    }
}

/* For tests/e2e/score/test_films.sh: a line for each, with fields between US (0x1f). */
static void print_kinds(void) {
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        printf("%s\x1f%s\x1f%s\x1f%s\n", kinds[i].name, kinds[i].ending, kinds[i].lost,
               kinds[i].command);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "kinds") == 0) {
        print_kinds();
        return 0;
    }
    fixtures_start("video-tracks");
    TEST(each_is_whole_or_told);
    TEST(known_losses_stay_away);
    TEST(rows_are_told);
    TEST(broken_stretches_fail);
    TEST(channels_stay_or_are_told);
    TEST(broken_sound_is_told);
    return TEST_END();
}
