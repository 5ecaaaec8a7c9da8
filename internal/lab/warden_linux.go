package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// agentsRoot is a file system in memory that only the warden and its children see: what the agents keep is gone with them.
const agentsRoot = "/run"

// A warden runs the agents of a lab as the first process of a process namespace.
type warden struct {
	spec agentsSpec

	mu      sync.Mutex     // guards what follows, and is held while a process starts
	running map[int]func() // by process: what to do when it ended
	pids    map[part]int   // the processes that run now
}

// A part is one program of one agent.
type part struct {
	agent   int
	program string
}

// A wardenRequest is what a lab asks of a running warden: to start one program of an agent anew.
type wardenRequest struct {
	Agent   int
	Program string
}

// RunAgents is the life of the process that runs the agents of a lab. A program reaches it with [AgentsArguments]; it is started by [New] only, and
// ends when it is killed. The error says why agents could not be started.
func RunAgents() error {
	tell := os.NewFile(readyFile, "ready")
	if os.Getpid() != 1 || tell == nil {
		return errors.New("this is started by lab up")
	}
	defer tell.Close()
	w := &warden{running: map[int]func(){}, pids: map[part]int{}}
	in := json.NewDecoder(os.Stdin)
	err := in.Decode(&w.spec)
	if err == nil {
		err = w.prepare()
	}
	if err == nil {
		go w.reap()
		err = parallel(len(w.spec.Agents), w.begin)
	}
	if err != nil {
		_, _ = tell.WriteString(err.Error() + "\n")
		return err
	}
	if _, err := tell.WriteString(readyWord); err != nil {
		return err
	}
	tell.Close()
	for {
		var q wardenRequest
		if err := in.Decode(&q); err != nil {
			return nil // the lab is gone
		}
		w.mu.Lock()
		if pid, ok := w.pids[part{q.Agent, q.Program}]; ok {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		w.mu.Unlock()
	}
}

// prepare makes the place where the agents keep their files.
func (w *warden) prepare() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("whichlink", agentsRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount a file system in memory: %w", err)
	}
	for fd := range firstSpace + len(w.spec.Agents) {
		if fd >= readyFile {
			unix.CloseOnExec(fd)
		}
	}
	// lldpd locks itself into this directory.
	if err := os.Mkdir(filepath.Join(agentsRoot, "lldpd"), 0o755); err != nil {
		return err
	}
	// snmpd.conf has no way to quote a program's name.
	return os.Symlink(w.spec.Self, w.helper())
}

func (w *warden) helper() string { return filepath.Join(agentsRoot, "whichlink") }

func (w *warden) dir(i int) string { return filepath.Join(agentsRoot, fmt.Sprintf("agent%d", i)) }

// begin starts the agents of one switch: lldpd when snmpd can be spoken to, since it tries again only after 15 s.
func (w *warden) begin(i int) error {
	a := &w.spec.Agents[i]
	// lldpd gives up its rights before it speaks to snmpd.
	for _, dir := range []string{w.dir(i), filepath.Join(w.dir(i), "persist")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"snmpd.conf": w.snmpdConf(i), "lldpd.conf": w.lldpdConf(i)} {
		if err := os.WriteFile(filepath.Join(w.dir(i), name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := w.keepRunning(i, w.snmpd); err != nil {
		return fmt.Errorf("start snmpd of %s: %w", a.Name, err)
	}
	if err := w.awaitListening(i); err != nil {
		return fmt.Errorf("snmpd of %s: %w", a.Name, err)
	}
	if w.spec.Lldpd == "" {
		return nil
	}
	if err := w.keepRunning(i, w.lldpd); err != nil {
		return fmt.Errorf("start lldpd of %s: %w", a.Name, err)
	}
	return nil
}

func (w *warden) snmpd(i int) (argv, env []string) {
	d := w.dir(i)
	_ = os.Remove(filepath.Join(d, "agentx.sock"))
	var speeds []string
	for _, p := range w.spec.Agents[i].Ports {
		if p.Megabits > 0 {
			speeds = append(speeds, fmt.Sprintf("%s=%d", p.Device, p.Megabits))
		}
	}
	// MIBs are not needed, and reading them takes most of the time.
	return []string{w.spec.Snmpd, "-f", "-C", "-c", filepath.Join(d, "snmpd.conf"), "-LE", "w"},
		[]string{"MIBS=", "SNMP_PERSISTENT_DIR=" + filepath.Join(d, "persist"), startVariable + "=" + fmt.Sprint(bootTime().Nanoseconds()),
			speedsVariable + "=" + strings.Join(speeds, ",")}
}

func (w *warden) lldpd(i int) (argv, env []string) {
	d := w.dir(i)
	// A socket that a former one left says to lldpd that it is running already.
	_ = os.Remove(filepath.Join(d, "lldpd.sock"))
	return []string{w.spec.Lldpd, "-d", "-x", "-X", filepath.Join(d, "agentx.sock"), "-u", filepath.Join(d, "lldpd.sock"),
		"-O", filepath.Join(d, "lldpd.conf"), "-I", "*,!" + w.spec.Agents[i].Management, "-m", w.spec.Agents[i].Address, "-S", "whichlink lab"}, nil
}

// snmpdConf answers to the community and to one user of SNMPv3, and tells of links that go down or up within a second of what it sees itself.
// Numbers in place of names: Debian ships no MIBs.
func (w *warden) snmpdConf(i int) string {
	a := &w.spec.Agents[i]
	var b strings.Builder
	fmt.Fprintf(&b, "agentaddress udp:%s:161\n[snmp] clientaddr %s\nsysName %s\nsysServices 6\n", a.Address, a.Address, oneLine(a.Name))
	fmt.Fprintf(&b, "rocommunity %s\ncreateUser %s SHA-256 \"%s\" AES \"%s\"\nrouser %s priv\n", Community, User, AuthPassword, PrivPassword, User)
	fmt.Fprintf(&b, "master agentx\nagentXSocket unix:%s\nagentXPerms 0777 0755\n", filepath.Join(w.dir(i), "agentx.sock"))
	for _, c := range servedColumns {
		fmt.Fprintf(&b, "pass_persist -p 10 .%s %s %s\n", c.oid, w.helper(), strings.Join(CountersArguments(), " "))
	}
	b.WriteString("createUser internal\nrouser internal\niquerySecName internal\n")
	for _, port := range []int{162, 1162} { // whoever may open the one port hears them, and whoever may not
		fmt.Fprintf(&b, "trap2sink %s:%d %s\n", w.spec.Collector, port, Community)
	}
	const state = ".1.3.6.1.2.1.2.2.1.1 .1.3.6.1.2.1.2.2.1.7 .1.3.6.1.2.1.2.2.1.8"
	b.WriteString("notificationEvent linkUpTrap .1.3.6.1.6.3.1.1.5.4 " + state + "\nnotificationEvent linkDownTrap .1.3.6.1.6.3.1.1.5.3 " + state + "\n" +
		"monitor -r 1 -e linkUpTrap \"Generate linkUp\" .1.3.6.1.2.1.2.2.1.8 != 2\nmonitor -r 1 -e linkDownTrap \"Generate linkDown\" .1.3.6.1.2.1.2.2.1.8 == 2\n")
	return b.String()
}

// lldpdConf names the switch: without it all are called as the machine is, and count as one. Neighbours are forgotten after six seconds.
func (w *warden) lldpdConf(i int) string {
	a := &w.spec.Agents[i]
	var b strings.Builder
	fmt.Fprintf(&b, "configure system hostname %[1]s\nconfigure system chassisid %[1]s\n", quoted(a.Name))
	b.WriteString("configure lldp tx-interval 2\nconfigure lldp tx-hold 3\nconfigure lldp portidsubtype ifname\n")
	for _, p := range a.Ports {
		if p.Device != p.Name {
			fmt.Fprintf(&b, "configure ports %s lldp portidsubtype local %s\n", quoted(p.Device), quoted(p.Name))
		}
	}
	return b.String()
}

// oneLine makes a name fit into a line of a file.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "_", "\r", "_", "\x00", "_").Replace(s)
}

// quoted writes a word for lldpcli, which knows no way to write a double quote.
func quoted(s string) string { return `"` + strings.ReplaceAll(oneLine(s), `"`, "_") + `"` }

// restartPause keeps a program that ends at once from being all that the machine does.
const restartPause = 300 * time.Millisecond

// keepRunning starts a program in the namespace of a switch, and again when it ends.
func (w *warden) keepRunning(i int, command func(int) (argv, env []string)) error {
	argv, env := command(i)
	var err error
	onMortalThread(func() {
		err = w.launch(i, argv, env, func() {
			fmt.Fprintf(os.Stderr, "%s of %s ended, and is started again\n", filepath.Base(argv[0]), w.spec.Agents[i].Name)
			time.Sleep(restartPause)
			if err := w.keepRunning(i, command); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	})
	return err
}

// launch starts a program from the calling thread, which it leaves in the switch's network and in mounts of its own.
func (w *warden) launch(i int, argv, env []string, ended func()) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	if err := unix.Setns(firstSpace+i, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace: %w", err)
	}
	// Programs look up devices there, too; where it is not permitted they do without.
	_ = unix.Mount("none", "/sys", "sysfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: "/", Env: append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, env...), Files: []*os.File{null, os.Stderr, os.Stderr},
	})
	if err != nil {
		return err
	}
	w.running[p.Pid] = ended
	w.pids[part{i, filepath.Base(argv[0])}] = p.Pid
	return p.Release()
}

// reap waits for all processes that end, also those that lost their parents.
func (w *warden) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // nobody there yet
			continue
		}
		w.mu.Lock()
		ended := w.running[pid]
		delete(w.running, pid)
		maps.DeleteFunc(w.pids, func(_ part, p int) bool { return p == pid })
		w.mu.Unlock()
		if ended != nil {
			go ended()
		}
	}
}

// agentPatience is how long snmpd may take to come up on a busy machine.
const agentPatience = 30 * time.Second

// awaitListening waits until a switch's snmpd has its sockets.
func (w *warden) awaitListening(i int) error {
	var err error
	onMortalThread(func() {
		if err = unix.Setns(firstSpace+i, unix.CLONE_NEWNET); err != nil {
			return
		}
		for until := time.Now().Add(agentPatience); ; time.Sleep(2 * time.Millisecond) {
			sockets, rerr := os.ReadFile("/proc/thread-self/net/udp")
			if rerr != nil {
				err = rerr
				return
			}
			_, serr := os.Stat(filepath.Join(w.dir(i), "agentx.sock"))
			if serr == nil && strings.Contains(string(sockets), ":00A1 ") {
				return
			}
			if time.Now().After(until) {
				err = fmt.Errorf("it does not listen after %s", agentPatience)
				return
			}
		}
	})
	return err
}

// bootTime is the time since the machine started.
func bootTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano())
}
