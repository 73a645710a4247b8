// The programs of docs/grpc/stubs.md in Go and Java, each with what the page leaves out. No test logic here.
import { blocksOf, readPage } from '../docs/pages.ts'

const page = 'docs/grpc/stubs.md'

/** A language: how its stubs and its program are made, and how the program is run. */
export type Program = {
  language: string
  /** Lines of a shell, beside `proto` and `node_modules`, that make the stubs as the page says and compile all of them. */
  build: string
  /** The program. Its arguments: address, token, id of a project, ids of payments. It prints a line for each payment. */
  file: { name: string; text: string }
  run: string
}

/** The code of a section of the page: its commands, and the text of its program. */
function sectionOf(language: string): { commands: string; text: string } {
  const [, section] = readPage(page).split(`\n## ${language}\n`)
  const blocks = blocksOf(page, section?.split('\n## ')[0] ?? '')
  const [commands, text] = ['sh', ''].map((kind) => blocks.find((one) => one.language === kind))
  if (commands === undefined || text === undefined) throw new Error(`${page} has no ${language}`)
  return { commands: commands.code, text: text.code }
}

function goProgram(): Program {
  const { commands, text } = sectionOf('Go')
  return {
    language: 'Go',
    build: `mkdir -p go/src && ln -s go/src stubs\n${commands}
export GO111MODULE=off GOPATH=$PWD/go:/usr/share/gocode GOCACHE=$PWD/cache
go build example.com/stubs/payweave/...
go build -o program program.go`,
    file: {
      name: 'program.go',
      text: `package main

import (
	"context"
	"fmt"
	"os"
	"time"

	payments "example.com/stubs/payweave/payments/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func read(address, token, projectID, paymentID string) error {
${text}
	return nil
}

func main() {
	for _, id := range os.Args[4:] {
		if err := read(os.Args[1], os.Args[2], os.Args[3], id); err != nil {
			panic(err)
		}
	}
}
`,
    },
    run: './program',
  }
}

function javaProgram(): Program {
  const { commands, text } = sectionOf('Java')
  return {
    language: 'Java',
    build: `mkdir stubs classes\n${commands}
javac -nowarn -cp '/usr/share/java/*' -d classes $(find stubs -name '*.java') Program.java`,
    file: {
      name: 'Program.java',
      text: `import com.google.rpc.ErrorInfo;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.util.concurrent.TimeUnit;
import payweave.payments.v1.Payments.GetPaymentRequest;
import payweave.payments.v1.PaymentsServiceGrpc;

public class Program {
  static void read(String address, String token, String projectId, String paymentId) throws Exception {
${text}
    channel.shutdown();
  }

  public static void main(String[] args) throws Exception {
    for (int at = 3; at < args.length; at += 1) read(args[0], args[1], args[2], args[at]);
  }
}
`,
    },
    run: "java -cp 'classes:/usr/share/java/*' Program",
  }
}

/** Both programs. */
export const programs: readonly Program[] = [goProgram(), javaProgram()]
