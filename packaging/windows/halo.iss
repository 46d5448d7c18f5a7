; The Windows installer, for Inno Setup 6. Build the bundle first; then: iscc /DVersion=1.2.3 packaging\windows\halo.iss
#ifndef Version
  #error Give the version of pyproject.toml with /DVersion=
#endif

[Setup]
AppId={{6E3C1A52-55B3-4E0A-9A53-1D2B0C9D7F10}
AppName=Halo Scheduler
AppVersion={#Version}
AppPublisher=The Halo Scheduler authors
DefaultDirName={autopf}\Halo Scheduler
DefaultGroupName=Halo Scheduler
; For one user, without an administrator, unless they choose otherwise.
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=dialog
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
SourceDir=..\..
OutputDir=dist
OutputBaseFilename=halo-scheduler-{#Version}-setup
LicenseFile=LICENSE
SetupIconFile=build\icons\halo.ico
UninstallDisplayIcon={app}\halo-scheduler.exe
Compression=lzma2
SolidCompression=yes
ChangesEnvironment=yes
CloseApplications=yes
RestartApplications=yes

[Tasks]
Name: path; Description: "Put the halo command on the PATH"

[Files]
Source: build\bundle\halo-scheduler\*; DestDir: {app}; Flags: recursesubdirs ignoreversion

[Icons]
Name: {group}\Halo Scheduler; Filename: {app}\halo-scheduler.exe

[Registry]
Root: HKCU; Subkey: Environment; ValueType: expandsz; ValueName: Path; ValueData: "{olddata};{app}"; Tasks: path; Check: NotOnPath

[Run]
Filename: {app}\halo-scheduler.exe; Description: "Open Halo Scheduler"; Flags: nowait postinstall skipifsilent

[UninstallRun]
Filename: {app}\halo.exe; Parameters: "autostart off"; Flags: runhidden; RunOnceId: Autostart

[Code]
function NotOnPath: Boolean;
var
  Path: String;
begin
  if not RegQueryStringValue(HKCU, 'Environment', 'Path', Path) then
    Path := '';
  Result := Pos(Lowercase(ExpandConstant('{app}')), Lowercase(Path)) = 0;
end;
